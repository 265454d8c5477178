// Split-KV: with few queries, blocks take parts of the keys, which are merged afterwards.
#pragma once
#include <ridge/attention/scores.hpp>

namespace ridge::attention_detail {

// Blocks that are resident on the device at a time.
inline std::int64_t places_of(const Config& c, const DeviceInfo& device) {
  return std::int64_t{device.sms} * c.blocks_per_sm;
}

// Number of splits: one wave of blocks fills the device, and no split has less than two tiles.
inline int kv_splits_of(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t blocks = blocks_of(c, p), tiles = ceil_div(p.sk, c.bn);
  if (!c.split || blocks == 0 || tiles <= 0) return 1;
  const std::int64_t most = std::max<std::int64_t>(1, tiles / 2);
  const std::int64_t parts = std::clamp<std::int64_t>(places_of(c, device) / blocks, 1, most);
  return static_cast<int>(ceil_div(tiles, ceil_div(tiles, parts)));  // splits that have keys
}

// Bytes of the splits' O, sums of P and their references, in float32.
inline std::size_t bytes_of_parts(const Variant& row, const AttentionProblem& p, int splits) {
  if (splits == 1 || blocks_of(row.config, p) == 0) return 0;
  return static_cast<std::size_t>(splits * (p.hq * query_rows(p)) * (p.dv + 2)) * sizeof(float);
}

// What many queries' parts and their merge take beyond that traffic, of rows with tiles of queries; H200.
inline constexpr double merge_us = 6;

// Adds the traffic of the splits' results, written and read.
inline void add_parts(roofline::Kernel& k, const AttentionProblem& p, int splits) {
  if (splits > 1)
    k.l2_bytes += 2.0 * splits * static_cast<double>(p.hq * query_rows(p)) * static_cast<double>(p.dv + 2) * 4;
}

}  // namespace ridge::attention_detail
