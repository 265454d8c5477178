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

// A launch that reads and writes each element once: what a family's model begins with.
inline Kernel kernel_of(const Footprint& launch, const Cost& cost) {
  Kernel k;
  k.cost = cost;
  k.blocks = launch.grid;
  k.block = launch.block();
  k.bytes_read = cost.bytes_read;
  k.bytes_written = cost.bytes_written;
  return k;
}

// A refusal of more shared memory than a block may have; empty: it may.
inline std::string refuse_smem(int bytes, const DeviceInfo& device) {
  if (bytes <= device.smem_optin) return {};
  return std::to_string(bytes) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
}

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
