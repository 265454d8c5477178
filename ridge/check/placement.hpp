// Placement: where a case's tensors lie in memory, and the canaries around them.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/memory.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace ridge::check {

enum class Place : std::uint8_t {
  plain,    // contiguous, 256-byte aligned
  offset,   // contiguous, one element past an aligned address
  padded,   // rows three elements apart from each other
  packed,   // inputs: in the middle of three that lie side by side, as queries, keys and values do that are one product
  strided,  // every element two apart
  reversed,   // negative strides in the last axis
  inplace,    // plain, and the first output is the first input
  scattered,  // at random, by the case's seed: axes in any order, of either direction, gaps between them, any alignment
  broadcast,  // inputs of numbers: the first axis has stride 0
  windows,    // inputs of numbers: rows that overlap each other by half, as windows over a signal do
  tangled,    // outputs whose elements share places: no plan may take them
};

Result<Place> place_of(const Case&);
inline Place place_of_outputs(Place place) {
  return place == Place::packed || place == Place::broadcast || place == Place::windows ? Place::plain : place;
}
inline Place place_of_inputs(Place place) { return place == Place::tangled ? Place::plain : place; }
// Whether elements of an input may share a place in memory, and so a value.
inline bool shares_elements(Place place) { return place == Place::broadcast || place == Place::windows; }

// What tells the tensors of a scattered case apart: by the case's seed and the tensor's number, outputs behind inputs.
std::uint64_t salt_of(const Case&, std::size_t tensor, bool output);

// How a tensor lies: its strides, and which of how many elements is its first; the others are not its own.
struct Placing {
  Layout layout;
  std::int64_t first, elements;
};
Placing placing_of(const TensorType&, Place, std::uint64_t salt = 0);

// Views that lie so in memory that is not there, one behind the other: what a plan is made of. The first begins at or
// behind `at`, which becomes where another may. `salt` is the first tensor's.
std::vector<TensorView> views_to_plan(const std::vector<TensorType>&, Place, Device, std::uintptr_t& at,
                                      std::uint64_t salt = 0);

// A case, looked up, with all its tensors in memory that is not there. Refused: 2^60 bytes or more, whose placed views'
// strides and ends 63 bits might not count.
struct PlacedRequest {
  const CaseBook* book = nullptr;
  const OpInfo* op = nullptr;
  Place place{};
  std::vector<TensorView> inputs, outputs;
  double bytes = 0;  // of all of them
};
Result<PlacedRequest> placed_request(const Case&, Device);

// A tensor of this type inside a buffer of its own, fenced by a canary on either side and in every gap.
class Placed {
 public:
  static Result<Placed> make(const TensorType&, Place, Device, std::uint64_t salt = 0);

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
