// A family of kernels, as a plan sees it: the functions that the table's rows of these kernels share. They are in a
// header beside the family's .cuh; the operator's plan finds them by the algorithm that a row's Config names.
#pragma once
#include <ridge/roofline/predict.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace ridge::roofline {

// The resources of one launch.
struct Footprint {
  std::int64_t grid = 0;  // blocks
  int threads = 0;        // per block
  int registers = 0;      // per thread, rounded up to the allocation unit
  int smem = 0;           // bytes per block, dynamic
  std::size_t workspace = 0;

  Resources block() const { return {.threads = threads, .registers = registers, .smem = smem}; }
};

// The most registers of a thread where the compiler is asked for so many resident blocks. They are given out in eights.
constexpr int registers_for(int threads, int blocks_per_sm) {
  constexpr int of_multiprocessor = 65536, of_thread = 255;
  const int shared_out = of_multiprocessor / (threads * blocks_per_sm) / 8 * 8;
  return shared_out < of_thread ? shared_out : of_thread;
}

// The kernel of a launch that reads and writes each element once: the start of a family's model.
inline Kernel kernel_of(const Footprint& launch, const Cost& cost) {
  Kernel k;
  k.cost = cost;
  k.blocks = launch.grid;
  k.block = launch.block();
  k.bytes_read = cost.bytes_read;
  k.bytes_written = cost.bytes_written;
  return k;
}

// The refusal of more shared memory than a block may have; empty: it fits.
inline std::string refuse_smem(std::int64_t bytes, const DeviceInfo& device) {
  if (bytes <= device.smem_optin) return {};
  return std::to_string(bytes) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
}

// A refusal of every device but a Hopper; empty: it is one.
inline std::string refuse_all_but_hopper(const DeviceInfo& device) {
  if (device.cc == 90) return {};
  return "Hopper's instructions, of compute capability 9.0, and " + device.name + " is another device";
}

template <class Variant, class Problem> struct Family {
  // Why the row cannot run the problem on this device; empty: it can.
  std::string (*fits)(const Variant&, const Problem&, const DeviceInfo&);
  // Precondition of the functions below: the row fits.
  Footprint (*footprint)(const Variant&, const Problem&, const DeviceInfo&);
  // The launch's other demands on the device: bytes, trips, clocks.
  Kernel (*model)(const Variant&, const Problem&, const DeviceInfo&);
  // The item of the textbook's checklist that the row shows; empty: none.
  std::string_view (*lesson)(const Variant&);
};

}  // namespace ridge::roofline
