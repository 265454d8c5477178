// Split-K through memory: each slice's sums go to the workspace, and a second kernel adds them up in an order that the
// sizes determine (add_slices.cuh). Here: how k is cut, the layout of the sums, and the predicted time of adding them.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/gemm/config.hpp>

#include <cmath>

namespace ridge::gemm_kernels {

inline constexpr int max_slices = 256;

// The cut of k into at most `wanted` slices of whole steps of `step`.
struct Slices {
  int count = 1;
  std::int64_t k = 0;  // of each but the last
};
constexpr Slices slices_of(int step, std::int64_t k, int wanted) {
  const std::int64_t steps = (k + step - 1) / step;
  if (wanted <= 1 || steps <= 1) return {1, k};
  const std::int64_t of_each = (steps + wanted - 1) / wanted;
  return {static_cast<int>((steps + of_each - 1) / of_each), of_each * step};
}

// Layout of the sums: [batch][slices][m][pitch], in rows of whole vectors.
inline constexpr int slice_vector = 4;   // of the kernel that stores them
inline constexpr int slice_columns = 2;  // neighbours per thread: more threads to hide latency than with four
inline constexpr int slices_at_once = 8;
constexpr std::int64_t slice_pitch(std::int64_t n) { return (n + slice_vector - 1) / slice_vector * slice_vector; }

// Threads that share the slices of `vectors` times slice_columns elements: more until each reads its slices at once, or
// the device has enough to do.
inline constexpr int max_slice_depth = 16;
constexpr int slice_depth(std::int64_t vectors, std::int64_t slices) {
  constexpr std::int64_t enough = std::int64_t{1} << 17;
  int depth = 1;
  while (depth < max_slice_depth && vectors * depth < enough && slices > (slices_at_once + 1) * depth) depth *= 2;
  return depth;
}

// Time of the second kernel without its launch: it waits for the first one, and reads the sums, some slices of an
// element at a time.
inline double add_slices_us(std::int64_t slice_bytes, int slices, const DeviceInfo& device) {
  if (slices == 1) return 0;
  constexpr double start_us = 0.4, wait_us = 3, load_latency = 800;  // clocks, from the L2 cache
  const int depth = slice_depth(slice_bytes / slices / (4 * slice_columns), slices),
            each = (slices + depth - 1) / depth;
  const double loads = std::ceil((each - 1) / static_cast<double>(slices_at_once)) + (depth > 1 ? 0.5 : 0);
  return start_us + wait_us + 2 * static_cast<double>(slice_bytes) / device.memory_gbs * 1e-3 +
         loads * load_latency / device.clock_ghz * 1e-3;
}

}  // namespace ridge::gemm_kernels
