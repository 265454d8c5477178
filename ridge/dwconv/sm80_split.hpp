// What the families on tensor cores share: chunks of steps in shared memory, components of operands, mma.sync's rate.
#pragma once
#include <ridge/dwconv/problem.hpp>

namespace ridge::dwconv_detail {

inline constexpr int chunk = 64;  // steps at a time: a line of 128 bytes of 16-bit elements in shared memory
inline constexpr int line_bytes = 128;
inline constexpr int sum_rows = 16, sum_cols = 8;                       // of one mma's accumulators
constexpr int components(DType dtype) { return dtype == f32 ? 2 : 1; }  // 16-bit components of an operand

// Clocks of mma.sync for the products of so many rows. edge_steps: steps that tiles at the edge of W add to a row;
// slow: the kernel's own factor, measured.
inline double mma_clocks(const DwconvProblem& p, const DeviceInfo& device, double rows, int edge_steps, double slow) {
  // mma.sync reaches about 0.6 of the tensor cores' rate, with operands from shared memory. The cost of splitting
  // float32 and of adding up its sums, and of loading 16-bit rows, was measured on an H200, at 768 steps.
  const double rate = device.fp16_tflops * 1e12 / 2 / std::max(device.sms, 1) / (device.clock_ghz * 1e9);
  const double edge = static_cast<double>(p.time + edge_steps) / std::max(static_cast<double>(p.time), 1.0);
  const double slower = slow * (p.dtype == f32 ? 2.7 : 5.2);
  return static_cast<double>(p.channels) * rows * products(p) * edge * (p.dtype == f32 ? 3 : 1) * slower /
         (0.6 * std::max(rate, 1.0));
}

}  // namespace ridge::dwconv_detail
