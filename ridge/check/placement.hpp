// Placement: the layouts of a case's tensors in memory, and the canaries around them.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/memory.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace ridge::check {

enum class Place : std::uint8_t {
  plain,      // contiguous, 256-byte aligned
  offset,     // contiguous, one element past an aligned address
  padded,     // rows with gaps of three elements
  packed,     // inputs: the middle one of three tensors side by side, as queries, keys and values of one product
  strided,    // elements two apart
  reversed,   // negative strides in the last axis
  inplace,    // plain, and the first output is the first input
  mixed,      // random by the case's seed, each tensor by itself: plain, rows apart by whole vectors, offset or padded
  scattered,  // random by the case's seed: axes in any order and direction, gaps between them, any alignment
  broadcast,  // floating-point inputs: the first axis has stride 0
  windows,    // floating-point inputs: rows that overlap each other by half, as windows over a signal do
  tangled,    // outputs whose elements share addresses: no plan may accept them
};

Result<Place> place_of(const Case&);
inline Place place_of_outputs(Place place) {
  return place == Place::packed || place == Place::broadcast || place == Place::windows ? Place::plain : place;
}
inline Place place_of_inputs(Place place) { return place == Place::tangled ? Place::plain : place; }
// Whether elements of an input may share an address, and so a value.
inline bool shares_elements(Place place) { return place == Place::broadcast || place == Place::windows; }

// A random seed for each tensor of a mixed or scattered case, from the case's seed and the tensor's number; outputs
// follow inputs.
std::uint64_t salt_of(const Case&, std::size_t tensor, bool output);

// The layout of a tensor in a buffer of `elements` elements, and the buffer's index of its origin.
struct Placing {
  Layout layout;
  std::int64_t first, elements;
};
Placing placing_of(const TensorType&, Place, std::uint64_t salt = 0);

// Views with this placement in memory that does not exist, one after the other, for making plans. The first begins at
// or after `at`, which becomes the end of the last. `salt` is the first tensor's.
std::vector<TensorView> views_to_plan(const std::vector<TensorType>&, Place, Device, std::uintptr_t& at,
                                      std::uint64_t salt = 0);

// A case with its book and operator and with all tensors in memory that does not exist. Refuses 2^60 bytes or more,
// where strides and ends of placed views might not fit into 63 bits.
struct PlacedRequest {
  const CaseBook* book = nullptr;
  const OpInfo* op = nullptr;
  Place place{};
  std::vector<TensorView> inputs, outputs;
  double bytes = 0;  // of all tensors
};
Result<PlacedRequest> placed_request(const Case&, Device);

// A tensor of this type in a buffer of its own, with canaries on both sides and in every gap.
class Placed {
 public:
  static Result<Placed> make(const TensorType&, Place, Device, std::uint64_t salt = 0);

  const TensorView& view() const { return view_; }
  Status write(const std::vector<double>& values);  // also restores the canaries
  Status poison();                                  // fills with a value that a run must overwrite everywhere
  struct Read {
    std::vector<double> values;
    bool canaries_intact = true;
    std::vector<bool> poisoned;  // per element: still poisoned
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
