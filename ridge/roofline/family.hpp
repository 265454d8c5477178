// A family of kernels, as a plan knows it: what holds of the rows of a table that its kernels run. A family's functions
// stand in a header beside its .cuh; the operator's plan finds them by the algorithm that a row's Config names.
#pragma once
#include <ridge/roofline/predict.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ridge::roofline {

// What one launch takes of a device.
struct Footprint {
  std::int64_t grid = 0;  // blocks
  int threads = 0;        // of a block
  int registers = 0;      // of a thread, to the unit in which they are handed out
  int smem = 0;           // bytes of a block, dynamic
  std::size_t workspace = 0;

  Resources block() const { return {.threads = threads, .registers = registers, .smem = smem}; }
};

template <class Variant, class Problem> struct Family {
  // Why the row cannot run the problem on this device; empty: it can.
  std::string (*fits)(const Variant&, const Problem&, const DeviceInfo&);
  // Precondition of what follows: it fits.
  Footprint (*footprint)(const Variant&, const Problem&, const DeviceInfo&);
  // What the launch asks of the device beside its footprint: bytes, trips, clocks.
  Kernel (*model)(const Variant&, const Problem&, const DeviceInfo&);
  // The item of the textbook's checklist that the row shows; empty: none.
  std::string_view (*lesson)(const Variant&);
};

}  // namespace ridge::roofline
