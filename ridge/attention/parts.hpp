// Parts of the keys, which blocks of their own attend to where there are few queries, and what brings them together.
#pragma once
#include <ridge/attention/scores.hpp>

namespace ridge::attention_detail {

// Blocks that the device has room for at a time.
inline std::int64_t places_of(const Config& c, const DeviceInfo& device) {
  return std::int64_t{device.sms} * c.blocks_per_sm;
}

// As many as let one wave of blocks fill the device, and none of less than two tiles.
inline int parts_of_keys(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t blocks = blocks_of(c, p), tiles = ceil_div(p.sk, c.bn);
  if (!c.split || blocks == 0 || tiles <= 0) return 1;
  const std::int64_t most = std::max<std::int64_t>(1, tiles / 2);
  const std::int64_t parts = std::clamp<std::int64_t>(places_of(c, device) / blocks, 1, most);
  return static_cast<int>(ceil_div(tiles, ceil_div(tiles, parts)));  // parts that have keys
}

// O of every part, its weights' sum and what they are relative to, in float32.
inline std::size_t bytes_of_parts(const Variant& row, const AttentionProblem& p, int splits) {
  if (splits == 1 || blocks_of(row.config, p) == 0) return 0;
  return static_cast<std::size_t>(splits * (p.hq * query_rows(p)) * (p.dv + 2)) * sizeof(float);
}

// What parts came to is written and read.
inline void add_parts(roofline::Kernel& k, const AttentionProblem& p, int splits) {
  if (splits > 1)
    k.l2_bytes += 2.0 * splits * static_cast<double>(p.hq * query_rows(p)) * static_cast<double>(p.dv + 2) * 4;
}

}  // namespace ridge::attention_detail
