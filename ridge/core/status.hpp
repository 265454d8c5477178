// Status and Result: how every Ridge function reports errors. No exception and no abort crosses the API.
//
// A refusal names four things: the operator, the argument, its value and what is allowed.
#pragma once
#include <ridge/core/api.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace ridge {

enum class Code : unsigned char {
  ok,
  invalid_argument,  // the request contradicts the operator's contract
  unsupported,       // the request is legal, and no variant takes it
  no_device,         // a GPU was asked for, and there is none
  out_of_memory,
  kernel_fault,     // a kernel broke a rule of the CPU runtime
  device_error,     // the GPU's driver or runtime reported an error
  io,               // a file could not be read or written
  interrupted = 9,  // the caller interrupted the work (core/interrupt.hpp); 8 is the C ABI's own
};

RIDGE_API std::string_view name(Code);

// Every source of the library includes this class. Only status.cpp knows its members: <memory>, and a shared_ptr's code
// in each object, would take a third of the time that a small source takes to compile.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(const Status& other) : detail_(share(other.detail_)) {}
  Status(Status&& other) noexcept : detail_(std::exchange(other.detail_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(detail_, other.detail_);
    return *this;
  }
  ~Status() {
    if (detail_) release(detail_);
  }

  // An error with a plain sentence.
  RIDGE_API static Status error(Code, std::string sentence);

  // "softmax: x.dtype is i32; it must be one of f32 f16 bf16"
  RIDGE_API static Status invalid(std::string_view op, std::string argument, std::string value, std::string constraint);
  RIDGE_API static Status refuse(Code, std::string_view op, std::string argument, std::string value,
                                 std::string constraint);

  bool ok() const { return !detail_; }
  explicit operator bool() const { return ok(); }
  RIDGE_API Code code() const;
  RIDGE_API std::string_view message() const;
  // The four parts of a refusal; empty for an error with a plain sentence.
  RIDGE_API std::string_view op() const;
  RIDGE_API std::string_view argument() const;
  RIDGE_API std::string_view value() const;
  RIDGE_API std::string_view constraint() const;

 private:
  struct Detail;  // immutable; copies share it
  explicit Status(const Detail* detail) : detail_(detail) {}
  RIDGE_API static const Detail* share(const Detail*) noexcept;  // null: null
  RIDGE_API static void release(const Detail*) noexcept;
  const Detail* detail_ = nullptr;  // null means ok, so success allocates nothing
};

// A value, or the Status that explains why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::in_place, std::move(value)) {}
  Result(Status error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  Status error() const { return error_; }
  T& value() { return value_.value(); }
  const T& value() const { return value_.value(); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status error_;
};

// Thrown only by the one-line convenience functions (ridge::softmax(x, y)).
class Error : public std::runtime_error {
 public:
  explicit Error(Status status) : std::runtime_error(std::string(status.message())), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

inline void throw_if(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace ridge

// Returns the error from the calling function, if there is one.
#define RIDGE_TRY(expression) \
  if (::ridge::Status ridge_tried = (expression); !ridge_tried.ok()) return ridge_tried
