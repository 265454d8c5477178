// The mean of each plane, channels innermost: 16 bytes of channels per lane, and several lanes for their pixels.
#pragma once
#include <ridge/pool/problem.hpp>
#include <ridge/tile/columns.hpp>

namespace ridge::pool_detail::global_channels {

inline std::int64_t pixels_of(const PoolProblem& p) { return p.x.shape[2] * p.x.shape[3]; }
inline std::int64_t vectors_of(const PoolProblem& p) { return p.x.shape[1] / vector_elements(p.dtype); }  // of a pixel

// How a block's threads share its vectors: lanes along channels, `depth` threads for the pixels of each.
inline tile::ColumnBlock block_of(const Config& c, const PoolProblem& p) {
  const std::int64_t vectors = vectors_of(p);
  return tile::column_block(c.threads, tile::column_lanes(p.x.shape[0] * vectors), vectors, pixels_of(p));
}
// Blocks of an image.
inline std::int64_t blocks_of(const Config& c, const PoolProblem& p) {
  const tile::ColumnBlock k = block_of(c, p);
  return ceil_div(vectors_of(p), std::int64_t{k.lanes} * k.groups);
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_all_but_global(p); !why.empty()) return why;
  if (std::string why = refuse_channels(p); !why.empty()) return why;
  const std::int64_t blocks = p.x.shape[0] * blocks_of(row.config, p);
  if (std::string why = refuse_large(p, std::max({blocks, p.x.shape[1], pixels_of(p)})); !why.empty()) return why;
  if (p.x.shape[2] > 1 && p.x.shape[3] > 1 && p.x.stride[2] != p.x.shape[3] * p.x.stride[3])
    return "pixels are not evenly spaced";
  return {};
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = p.x.shape[0] * blocks_of(c, p),
          .threads = c.threads,
          .registers = 64,
          .smem = c.threads * static_cast<int>(vector_elements(p.dtype) * sizeof(float))};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t depth = block_of(c, p).depth;
  const double of_vector = static_cast<double>(vector_elements(p.dtype));
  const double pixels = static_cast<double>(pixels_of(p));
  // Of an output: a load for several, an addition and a conversion per pixel, and the levels' share of the reduction.
  const double instructions = pixels * (2 + 6 / of_vector) + static_cast<double>(depth) * (4 + 60 / of_vector);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = static_cast<double>(ceil_div(pixels_of(p), depth * c.loads));
  k.trip_bytes =
      c.threads * vector_bytes * std::min<double>(c.loads, static_cast<double>(ceil_div(pixels_of(p), depth)));
  k.block_us = 1;  // barriers
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::global_channels
