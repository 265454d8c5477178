// What the families of a gradient's sums share: those of dy and of dy (x - mean), over all axes but the channel. Their
// work is divided as that of statistics is.
#pragma once
#include <ridge/batch_norm/stats.hpp>

namespace ridge::batch_norm_detail {

using SumsFamily = StatsFamily;

// Whether a gradient has sums, and whether it reads x.
inline bool has_sums(const BatchNormProblem& p) { return p.function == BatchNorm::train || p.dgamma || p.dbeta; }
inline bool reads_x(const BatchNormProblem& p) { return p.function == BatchNorm::train || p.dgamma; }

// Bytes of both sums of a channel, or of a slice of it.
inline constexpr int sums_bytes = 8;

// Shared memory for both sums of each lane's elements.
constexpr int smem_of_sums(const StatsConfig& c, DType dtype) {
  return c.threads * 2 * static_cast<int>(elements_of_load(c, dtype)) * 4;
}

// The launch of this grid, but for registers and shared memory. The workspace has each channel's sums, and behind them
// those of its slices, if there are several.
inline Footprint footprint_of_sums(const StatsConfig& c, const StatsGrid& g, const BatchNormProblem& p) {
  const std::int64_t slices = g.slices > 1 ? g.slices : 0;
  return {.grid = g.blocks(),
          .threads = c.threads,
          .workspace = static_cast<std::size_t>(p.x.shape[1] * (1 + slices)) * sums_bytes};
}

// ---- models

// The least work of a gradient, which may have a row of each table.
inline Cost gradient_cost(const BatchNormProblem& p) {
  const double n = elements_of(p), size = element_bytes(p), channels = static_cast<double>(p.x.shape[1]);
  Cost c;
  c.bytes_read = n * size * (reads_x(p) ? 2 : 1) + 4 * channels * (2 + (p.gamma ? 1 : 0));
  c.bytes_written = n * size + 4 * channels * ((p.dgamma ? 1 : 0) + (p.dbeta ? 1 : 0));
  c.on(Unit::fp32) = n * ((has_sums(p) ? 3 : 0) + (p.function == BatchNorm::train ? 4 : 1));
  return c;
}

// The start of every family's model.
inline roofline::Kernel kernel_of_sums(const StatsConfig& c, const StatsGrid& g, const Footprint& launch,
                                       const BatchNormProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, gradient_cost(p));
  k.launches = g.slices == 1 ? 1 : 2;
  k.bytes_read = 2 * elements_of(p) * element_bytes(p);
  k.bytes_written = static_cast<double>(p.x.shape[1]) * sums_bytes;
  k.serial_us = g.slices == 1 ? 0 : 2;                                          // the second kernel's trip to memory
  const std::int64_t at_a_time = std::max<std::int64_t>(g.step * g.slices, 1);  // of a channel, by all of its blocks
  k.trips = std::max(1.0, static_cast<double>(ceil_div(g.items, at_a_time)));
  k.trip_bytes = 2 * c.threads * c.loads * static_cast<double>(elements_of_load(c, p.dtype)) * element_bytes(p);
  k.block_us = 1;  // barriers
  // Per element: two conversions and three operations, and where elements are loaded one by one, its place.
  k.clocks = elements_of(p) / 32 / 4 * (c.vectorized ? 7 : 18);
  return k;
}

}  // namespace ridge::batch_norm_detail
