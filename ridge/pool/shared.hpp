// The inputs of a tile of outputs in shared memory: any window, any strides.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail {

inline constexpr int shared_columns = 32;  // columns of a block's tile of outputs

namespace shared {

// Rows and columns of a tile's inputs, halo included.
struct Inputs {
  std::int64_t rows, cols;
};
inline Inputs inputs_of_tile(const Config& c, const PoolWindow& window) {
  return {inputs_of(c.rows, window.stride.h, window.extent().h),
          inputs_of(shared_columns, window.stride.w, window.extent().w)};
}

// Floats of shared memory: the tile's inputs [rows][cols], and reduced rows [rows][shared_columns].
inline std::int64_t smem_floats(const Config& c, const PoolWindow& window) {
  const Inputs inputs = inputs_of_tile(c, window);
  return inputs.rows * (inputs.cols + shared_columns);
}

constexpr std::int64_t tiles_of(const Config& c, const PoolProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], c.rows) * ceil_div(p.y.shape[3], shared_columns);
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_others(p); !why.empty()) return why;
  if (std::string why = refuse_large(p, tiles_of(c, p)); !why.empty()) return why;
  // Above any device's shared memory: refused here, before sums of sizes could overflow.
  const PoolPair extent = p.window.extent(), stride = p.window.stride;
  if (std::max({extent.h, extent.w, stride.h, stride.w}) > 1 << 12)
    return "the window's extent or stride is above 4,096";
  return roofline::refuse_smem(4 * smem_floats(c, p.window), device);
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, p),
          .threads = c.threads,
          .registers = 64,
          .smem = static_cast<int>(4 * smem_floats(c, p.window))};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double h = static_cast<double>(p.window.size.h), w = static_cast<double>(p.window.size.w);
  const double per_output = static_cast<double>(smem_floats(c, p.window)) / (c.rows * shared_columns);
  const double instructions = 20 * per_output + 6 * (per_output * w + h);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.block_us = 1;  // two barriers
  k.trip_bytes = c.threads * element_bytes(p) * 2;
  read_along_rows(k, p);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace shared
}  // namespace ridge::pool_detail
