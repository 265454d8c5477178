// Shared by families of gradients: blocks that own queries or keys, and statistics of queries in the workspace.
#pragma once
#include <ridge/attention/scores.hpp>

namespace ridge::attention_kernels {

inline constexpr int query_stats_bytes = 16;

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {

// Number of blocks of the kernels over queries, and over keys.
constexpr std::int64_t query_blocks(const Config& c, const AttentionProblem& p) {
  return ceil_div(p.sq, c.bm) * p.b * p.hq;
}
constexpr std::int64_t key_blocks(const Config& c, const AttentionProblem& p) {
  return ceil_div(p.sk, c.bm) * p.b * p.hkv;
}
// Number of blocks of both.
constexpr std::int64_t gradient_blocks(const Config& c, const AttentionProblem& p) {
  return query_blocks(c, p) + key_blocks(c, p);
}

// How much longer a launch of whole blocks takes than their work spread evenly over the device.
inline double idle_factor(std::int64_t blocks, const DeviceInfo& device) {
  const double share = static_cast<double>(blocks) / device.sms;  // of each multiprocessor
  return share > 0 ? std::ceil(share) / share : 1;
}

inline std::size_t bytes_of_stats(const AttentionProblem& p) {
  return static_cast<std::size_t>(p.hq * query_rows(p) * query_stats_bytes);
}

}  // namespace ridge::attention_detail
