// Gradients of many short sequences, f16 and bf16, from Ampere on: a block has all keys and queries of a head, and one
// kernel computes all three gradients.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_kernels {

inline constexpr int short_keys = 16;     // of a warp: rows of a product
inline constexpr int short_queries = 32;  // that a warp multiplies its keys by at a time

// What a block needs for a problem's sizes: it has a warp for every 16 keys, and tiles as long as the sequences. In
// shared memory: K, V, Q and dO in panels of 64 columns; O, and later dS, [keys][queries]; statistics of the queries; a
// mask's elements as floats, [queries][bias_pitch].
struct ShortBlock {
  int queries, keys;  // rows of the tiles: whole numbers of the above
  int threads;
  int v_at, q_at, grad_o_at, ds_at, stats_at, bias_at, bytes;  // K is at 0
  // 4 floats more than keys, of which there are a multiple of 16: two queries and eight keys are in different banks.
  constexpr int bias_pitch() const { return keys + 4; }
};
constexpr ShortBlock short_block(const Config& c, std::int64_t sq, std::int64_t sk, bool has_mask) {
  ShortBlock b{};
  b.queries = static_cast<int>(ceil_div(sq, short_queries)) * short_queries;
  b.keys = static_cast<int>(ceil_div(sk, short_keys)) * short_keys;
  b.threads = 32 * std::max({b.keys / short_keys, b.queries / short_queries, 1});  // the latter for copies and dQ
  b.v_at = mma_tile_bytes(b.keys, c.d);
  b.q_at = b.v_at + mma_tile_bytes(b.keys, c.dv);
  b.grad_o_at = b.q_at + mma_tile_bytes(b.queries, c.d);
  b.ds_at = b.grad_o_at + mma_tile_bytes(b.queries, c.dv);
  b.stats_at = b.ds_at + std::max(mma_tile_bytes(b.keys, b.queries), mma_tile_bytes(b.queries, c.dv));
  b.bias_at = b.stats_at + b.queries * query_stats_bytes;
  b.bytes = b.bias_at + (has_mask ? b.queries * b.bias_pitch() * 4 : 0);
  return b;
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::short_gradient {

inline ShortBlock block_of(const Config& c, const AttentionProblem& p) {
  return short_block(c, p.sq, p.sk, p.mask != AttentionMask::none);
}

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::gradients); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (p.sq > c.bn || p.sk > c.bm)
    return "a block has room for " + std::to_string(c.bn) + " queries and " + std::to_string(c.bm) + " keys";
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  if (p.hkv > 0 && p.b > max_grid / p.hkv) return "more than 2^31 - 1 blocks";
  return refuse_smem(block_of(c, p).bytes, device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  const ShortBlock block = block_of(row.config, p);
  Footprint launch = footprint_of(row.config, p.sq > 0 || p.sk > 0 ? p.b * p.hkv : 0, block.bytes);
  launch.threads = block.threads;
  return launch;
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const ShortBlock block = block_of(c, p);
  roofline::Kernel k = roofline::kernel_of(footprint(row, p, device), cost(p));
  const Products products{.rows = block.queries, .columns = multiply_adds(p, c.d, c.dv), .tflops = device.fp16_tflops};
  const double pairs_of_head = static_cast<double>(block.queries) * block.keys;  // with ones that do not exist
  const double all = static_cast<double>(p.b * p.hq) * pairs_of_head * products.columns;
  const double rate = rate_of(products, device);
  k.clocks = rate > 0 ? all / (rate * row.efficiency) : all;
  // A head's tiles arrive together, a mask after them; then products wait for one another. With a mask, each score's
  // bias is read from shared memory in code of its own. Both fitted to eight problems on an H200.
  const bool has_mask = p.mask != AttentionMask::none;
  k.clocks *= has_mask ? 3.3 : 2.2;
  const double head_us = has_mask ? 9 : 7;
  const double heads = p.hkv > 0 ? static_cast<double>(p.hq) / static_cast<double>(p.hkv) : 0;
  k.block_us = heads * head_us;
  k.trips = 1 + heads * (has_mask ? 3 : 1);
  k.trip_bytes = static_cast<double>((block.queries + block.keys) * (p.d + p.dv)) * 2;
  add_code(k, 5);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}};

}  // namespace ridge::attention_detail::short_gradient
