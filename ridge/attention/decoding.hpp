// Shared by both families with few queries per block, which stream keys through circular buffers that TMA fills.
#pragma once
#include <ridge/attention/parts.hpp>

#include <limits>

namespace ridge::attention_kernels {

// A stage: K [bn][d] and V [bn][dv].
constexpr int decode_stage_bytes(const Config& c) { return mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv); }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::decoding {

// Number of splits with the least time, counted in tiles, wave by wave. Measured on an H200, a block's prologue and
// epilogue take as long as a tile of each of its warps, and the merge as long as two.
inline int splits_of(std::int64_t warps, std::int64_t most_parts, std::int64_t blocks, std::int64_t places,
                     std::int64_t tiles) {
  if (blocks == 0 || tiles <= 0) return 1;
  const std::int64_t most = std::clamp<std::int64_t>(tiles / warps, 1, most_parts);
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    const std::int64_t each = ceil_div(tiles, parts), waves = ceil_div(blocks * parts, places);
    const std::int64_t time = waves * (std::max(each, warps) + warps) + (parts > 1 ? 2 * warps : 0);
    if (time < least && ceil_div(tiles, each) == parts) best = parts, least = time;  // all splits have keys
  }
  return static_cast<int>(best);
}

// Start of both families' models. warps: consumers of a block. block_overhead_us: prologue and epilogue of consecutive
// blocks, which do not overlap.
inline roofline::Kernel kernel_of(const Variant& row, const AttentionProblem& p, const Footprint& launch,
                                  const DeviceInfo& device, int splits, int warps, double block_overhead_us) {
  const Config& c = row.config;
  const Products products{.rows = c.bm,
                          .columns = multiply_adds(p, c.d, c.dv),
                          .tflops = device.fp16_tflops,
                          .edge_keys = has_far_edge(p) ? warps * c.bn : 0};  // as many as a block takes at a time
  roofline::Kernel k = attention_detail::kernel_of(row, p, launch, products, device, splits);
  k.l2_bytes *= 0.65;  // bulk copies of whole lines are faster by so much, measured
  add_parts(k, p, splits);
  // The stages of all warps are in flight at once.
  const int ring = warps * c.stages;
  const double each = key_tiles(c, p, splits);
  k.trips = 1 + std::max(1.0, each / ring);
  k.trip_bytes *= ring;
  // Missing columns are written to shared memory as zeros.
  constexpr double bytes_per_clock = 64;
  const auto zeros = static_cast<double>((c.d - p.d + c.dv - p.dv) * c.bn) * static_cast<double>(size_of(p.dtype));
  if (device.clock_ghz > 0) k.block_us = each * zeros / (bytes_per_clock * device.clock_ghz) * 1e-3;
  const int per_sm = std::max(roofline::occupancy(device, k.block).blocks, 1);
  const double waves = static_cast<double>(k.blocks) / (std::max(device.sms, 1) * per_sm);
  k.block_us += block_overhead_us * std::max(0.0, 1 - 1 / std::max(waves, 1.0));
  return k;
}

}  // namespace ridge::attention_detail::decoding
