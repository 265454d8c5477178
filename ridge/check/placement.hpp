// Placement: where a case's tensors lie in memory, and the canaries around them.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/memory.hpp>

#include <string_view>

namespace ridge::check {

enum class Place : std::uint8_t {
  plain,     // contiguous, 256-byte aligned
  offset,    // contiguous, one element past an aligned address
  padded,    // rows three elements apart from each other
  strided,   // every element two apart
  reversed,  // negative strides in the last axis
  inplace,   // plain, and the first output is the first input
};

Result<Place> place_of(const Case&);

// A tensor of this type inside a buffer of its own, fenced by a canary on either side and in every gap.
class Placed {
 public:
  static Result<Placed> make(const TensorType&, Place, Device);

  const TensorView& view() const { return view_; }
  Status write(const std::vector<double>& values);  // also restores the canaries
  Status poison();                                  // what no element may still be afterwards
  struct Read {
    std::vector<double> values;
    bool canaries_intact = true;
    std::vector<bool> poisoned;  // per element: the poison is still there
  };
  Result<Read> read() const;

 private:
  Status upload(const std::vector<std::byte>& elements);
  Layout layout_;              // in elements from first_
  std::int64_t first_ = 0;     // element index of the view's origin within the buffer
  std::int64_t elements_ = 0;  // of the buffer
  TensorView view_;
  Buffer buffer_;
};

}  // namespace ridge::check
