// Status and Result: how every Ridge function reports. No exception and no abort crosses the API.
//
// A refusal says four things: which operator, which argument, what was given and what is allowed.
#pragma once
#include <ridge/core/api.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace ridge {

enum class Code : unsigned char {
  ok,
  invalid_argument,  // the request contradicts the operator's contract
  unsupported,       // the request is legal, and no variant takes it
  no_device,         // a GPU was asked for, and there is none
  out_of_memory,
  kernel_fault,  // a kernel broke a rule of the vocabulary on the CPU runtime
  device_error,  // the GPU's driver or runtime refused
  io,            // a file could not be read or written
};

RIDGE_API std::string_view name(Code);

class [[nodiscard]] Status {
 public:
  Status() = default;

  // A plain sentence.
  static Status error(Code code, std::string sentence) { return Status(code, {}, {}, {}, {}, std::move(sentence)); }

  // "softmax: x.dtype is i32; it must be one of f32 f16 bf16"
  static Status invalid(std::string_view op, std::string argument, std::string value, std::string constraint) {
    return refuse(Code::invalid_argument, op, std::move(argument), std::move(value), std::move(constraint));
  }
  RIDGE_API static Status refuse(Code, std::string_view op, std::string argument, std::string value,
                                 std::string constraint);

  bool ok() const { return !detail_; }
  explicit operator bool() const { return ok(); }
  Code code() const { return detail_ ? detail_->code : Code::ok; }
  std::string_view message() const { return detail_ ? std::string_view(detail_->sentence) : "ok"; }
  // The four parts of a refusal; empty where the error is a plain sentence.
  std::string_view op() const { return detail_ ? std::string_view(detail_->op) : ""; }
  std::string_view argument() const { return detail_ ? std::string_view(detail_->argument) : ""; }
  std::string_view value() const { return detail_ ? std::string_view(detail_->value) : ""; }
  std::string_view constraint() const { return detail_ ? std::string_view(detail_->constraint) : ""; }

 private:
  struct Detail {
    Code code;
    std::string op, argument, value, constraint, sentence;
  };
  Status(Code code, std::string op, std::string argument, std::string value, std::string constraint,
         std::string sentence)
      : detail_(std::make_shared<const Detail>(Detail{code, std::move(op), std::move(argument), std::move(value),
                                                      std::move(constraint), std::move(sentence)})) {}
  std::shared_ptr<const Detail> detail_;  // null is ok: success allocates nothing
};

// A value, or the Status that explains why there is none.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status error() const { return ok() ? Status{} : std::get<1>(state_); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
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

// Leaves the calling function with the error, if there is one.
#define RIDGE_TRY(expression) \
  if (::ridge::Status ridge_tried = (expression); !ridge_tried.ok()) return ridge_tried
