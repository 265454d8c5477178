// Shared by several families: properties of a problem's sequences, operands and scores; common refusals; and the start
// of a launch's model.
#pragma once
#include <ridge/attention/variants.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>

namespace ridge::attention_detail {

using roofline::Footprint;
using roofline::refuse_smem;

inline int one_split(const Variant&, const AttentionProblem&, const DeviceInfo&) { return 1; }
inline std::size_t no_workspace(const Variant&, const AttentionProblem&, int) { return 0; }

struct Family : roofline::Family<Variant, AttentionProblem> {
  // Number of splits of the keys; of gradients, of the heads that share keys.
  int (*splits)(const Variant&, const AttentionProblem&, const DeviceInfo&) = one_split;
  // Bytes of workspace for that number of splits.
  std::size_t (*workspace)(const Variant&, const AttentionProblem&, int splits) = no_workspace;
};

inline bool is_two_float(const AttentionProblem& p) { return p.rule.accumulate == Accumulate::two_float; }

inline double scale_of(const AttentionProblem& p) {
  return p.rule.scale ? *p.rule.scale : 1 / std::sqrt(static_cast<double>(p.d));
}

// ---- sequences and operands

// Whether sequences have different lengths; and the number of queries of all sequences, per head.
constexpr bool has_lengths(const AttentionProblem& p) { return p.cu_q || p.cu_k || p.lengths; }
constexpr std::int64_t query_rows(const AttentionProblem& p) { return p.cu_q ? p.total_q : p.b * p.sq; }

// Queries and keys of one sequence; with variable lengths, the mean, as far as it is known.
struct Lengths {
  double queries, keys;
};
inline Lengths lengths_of(const AttentionProblem& p) {
  const auto mean = [&](std::int64_t total) {
    return static_cast<double>(total) / std::max(1.0, static_cast<double>(p.b));
  };
  return {p.cu_q ? mean(p.total_q) : static_cast<double>(p.sq), p.cu_k ? mean(p.total_k) : static_cast<double>(p.sk)};
}

// Whether rows are contiguous and aligned to 16 bytes, with nonnegative strides.
constexpr bool has_vectors(const AttentionOperand& o, DType dtype) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto on_16 = [&](std::int64_t stride) { return stride >= 0 && stride * size % 16 == 0; };
  return o.element == 1 && o.alignment_offset == 0 && on_16(o.row) && on_16(o.head) && on_16(o.batch);
}

// ---- tiles and blocks

// Heads of a query that share a block.
constexpr std::int64_t pack_of(const Config& c, const AttentionProblem& p) {
  return c.packed && p.hkv > 0 ? std::max<std::int64_t>(p.hq / p.hkv, 1)
                               : 1;  // without heads there is nothing to share
}
constexpr std::int64_t tiles_of(const Config& c, const AttentionProblem& p) {
  return ceil_div(p.sq * pack_of(c, p), c.bm);
}
// Number of blocks of the forward pass, per split of the keys.
constexpr std::int64_t blocks_of(const Config& c, const AttentionProblem& p) {
  return p.hq == 0 ? 0 : tiles_of(c, p) * p.b * (p.hq / pack_of(c, p));
}

// ---- common refusals; empty: none

enum class Computes : std::uint8_t { outputs, gradients, both };

// Refuses by what a row computes, its element types, and its largest number of columns.
inline std::string refuse_row(const Variant& row, const AttentionProblem& p, Computes computes) {
  const Config& c = row.config;
  if (p.backward && computes == Computes::outputs) return "it has no gradient";
  if (!p.backward && computes == Computes::gradients) return "it computes gradients";
  if (!is_instantiated(row, p.dtype)) return "not instantiated for " + std::string(name(p.dtype));
  if (const bool offers = c.algorithm == Algorithm::two_float; offers != is_two_float(p))
    return offers ? "its sums are in two floats, which was not asked for" : "it has no sums in two floats";
  if (p.d > c.d) return "d is " + std::to_string(p.d) + ", and it has room for " + std::to_string(c.d);
  if (p.dv > c.dv) return "dv is " + std::to_string(p.dv) + ", and it has room for " + std::to_string(c.dv);
  return {};
}

inline std::string refuse_before_ampere(const DeviceInfo& device) {
  if (device.cc >= 80) return {};
  return "tensor cores' instructions of compute capability 8.0 and later, and " + device.name + " is another device";
}
// what: the Hopper feature.
inline std::string refuse_other_than_hopper(const DeviceInfo& device, const char* what) {
  if (device.cc == 90) return {};
  return std::string(what) + " of compute capability 9.0, and " + device.name + " is another device";
}

// who: takes only vector-aligned operands.
inline std::string refuse_without_vectors(std::initializer_list<const std::optional<AttentionOperand>*> operands,
                                          const AttentionProblem& p, const char* who) {
  for (const auto* operand : operands)
    if (!has_vectors(**operand, p.dtype))
      return std::string("rows that are contiguous and start on 16 bytes are what ") + who;
  return {};
}

inline std::string refuse_masks(const AttentionProblem& p) {
  return p.mask != AttentionMask::none ? "it takes no mask tensor" : "";
}
inline std::string refuse_pages(const AttentionProblem& p) { return p.block_table ? "it finds no keys in pages" : ""; }
inline std::string refuse_lengths(const AttentionProblem& p) {
  return has_lengths(p) ? "it takes sequences of one length alone" : "";
}

// Refuses more blocks than a grid has, for kernels over tiles of queries, single queries, or tiles of keys.
inline std::string refuse_grid(const Config& c, const AttentionProblem& p) {
  if (tiles_of(c, p) > max_grid / std::max<std::int64_t>(1, p.b * p.hq)) return "more than 2^31 - 1 blocks";
  if ((c.split || p.backward) && std::max(p.sq * p.b, query_rows(p)) > max_grid / std::max<std::int64_t>(1, p.hq))
    return "more than 2^31 - 1 queries";
  if (p.backward && ceil_div(p.sk, c.bm) > max_grid / std::max<std::int64_t>(1, p.b * p.hkv))
    return "more than 2^31 - 1 blocks";
  return {};
}

// Whether scores are products times a positive scale, which is a factor of the exponent.
inline bool scores_are_products(const AttentionProblem& p) {
  return p.rule.softcap == 0 && static_cast<float>(p.rule.scale.value_or(1)) > 0;
}

// ---- models

// Number of (query, key) pairs per head that the causal rule and the window allow.
inline double pairs(const AttentionProblem& p) {
  const AttentionRule& r = p.rule;
  const auto [sq, sk] = lengths_of(p);
  if (r.left < 0 && r.right < 0) return sq * sk;
  const double shift = r.align == AttentionAlign::lower_right ? sk - sq : 0;
  // Keys below a bound that rises by one from query to query: the sum of clamp(i + from, 0, sk).
  const auto below = [queries = sq, keys = sk](double from) {
    const double zero = std::clamp(-from, 0.0, queries),
                 full = std::clamp(keys - from, zero, queries);  // first i of either kind
    return (full - zero) * from + (full * (full - 1) - zero * (zero - 1)) / 2 + (queries - full) * keys;
  };
  const double last = r.right < 0 ? sq * sk : below(shift + static_cast<double>(r.right) + 1);
  const double first = r.left < 0 ? 0 : below(shift - static_cast<double>(r.left));
  return std::max(last - first, 0.0);
}
// Their share of all pairs.
inline double share_of_pairs(const AttentionProblem& p) {
  const auto [sq, sk] = lengths_of(p);
  return sq > 0 && sk > 0 ? pairs(p) / (sq * sk) : 0;
}

// Multiply-adds per query and key: of the forward pass, and of gradients, which need Q K^T, dO V^T and three sums.
inline double multiply_adds(const AttentionProblem& p, std::int64_t d, std::int64_t dv) {
  return static_cast<double>(p.backward ? 3 * d + 2 * dv : d + dv);
}

inline Cost cost(const AttentionProblem& p) {
  const auto n = [](std::int64_t x) { return static_cast<double>(x); };
  const double size = static_cast<double>(size_of(p.dtype)), heads = n(p.b) * n(p.hq), scores = heads * pairs(p);
  const auto [sq, sk] = lengths_of(p);
  Cost c;
  c.bytes_read = (heads * sq * n(p.d) + n(p.b) * n(p.hkv) * sk * (n(p.d) + n(p.dv))) * size;
  if (p.mask != AttentionMask::none) {  // broadcast axes are read once
    const AttentionOperand& m = *p.mask_layout;
    c.bytes_read += (m.batch ? n(p.b) : 1) * (m.head ? n(p.hq) : 1) * (m.row ? n(p.sq) : 1) *
                    (m.element ? n(p.sk) : 1) * static_cast<double>(size_of(p.mask_dtype));
  }
  c.bytes_written = heads * sq * (n(p.dv) * size + (p.lse ? 4 : 0));
  if (p.backward) {  // the forward results are read, with dO; the gradients are as Q, K and V
    const double inputs = (heads * sq * n(p.d) + n(p.b) * n(p.hkv) * sk * (n(p.d) + n(p.dv))) * size;
    c.bytes_read += c.bytes_written + heads * sq * n(p.dv) * size;
    c.bytes_written = inputs;
  }
  const double operations = 2 * scores * multiply_adds(p, p.d, p.dv);
  if (p.rule.math == AttentionMath::bf16x6) c.on(Unit::fp16_tensor) = 6 * operations;
  else if (is_two_float(p)) c.on(Unit::fp32) = two_float_multiply_add * operations;
  else c.on(p.dtype == f32 ? Unit::fp32 : Unit::fp16_tensor) = operations;
  c.on(Unit::special) = scores;  // one exponential
  return c;
}

// Footprint of `grid` blocks: registers as many as the requested occupancy allows.
inline Footprint footprint_of(const Config& c, std::int64_t grid, int smem, std::size_t workspace = 0) {
  return {.grid = grid,
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = smem,
          .workspace = workspace};
}

// Whether a window has a second edge: existing keys lie before it.
inline bool has_far_edge(const AttentionProblem& p) {
  const auto [sq, sk] = lengths_of(p);
  return p.rule.left >= 0 && static_cast<double>(p.rule.left) + 1 < std::max(sq, sk);
}

// Queries per head, or of the heads that share a block; and their tiles.
inline double packed_queries(const Config& c, const AttentionProblem& p) {
  return lengths_of(p).queries * static_cast<double>(pack_of(c, p));
}
inline double query_tiles(const Config& c, const AttentionProblem& p) { return std::ceil(packed_queries(c, p) / c.bm); }
// Tiles of keys that a block attends to.
inline double key_tiles(const Config& c, const AttentionProblem& p, int splits) {
  return lengths_of(p).keys * share_of_pairs(p) / splits / c.bn;
}

// How a row's kernels compute the products of queries and keys.
struct Products {
  int rows;           // queries that are computed together, whether they exist or not
  double columns;     // multiply-adds per query and key
  double tflops;      // of the units that compute them
  int edge_keys = 0;  // wasted keys per query at the edges of masks
};

// Multiply-adds per clock and multiprocessor, scaled by a row's efficiency; 0: unknown.
inline double rate_of(const Products& products, const DeviceInfo& device) {
  return products.tflops * 1e3 / (2 * device.sms * std::max(device.clock_ghz, 0.1));
}
// Keys per query, with wasted ones.
inline double keys_met(const AttentionProblem& p, const Products& products) {
  const auto [sq, sk] = lengths_of(p);
  return std::min(sk, pairs(p) / std::max(1.0, sq) + products.edge_keys);
}

inline double clocks_of(const Variant& row, const AttentionProblem& p, const Products& products,
                        const DeviceInfo& device) {
  // Whole tiles that cover the problem's sizes, with rows that do not exist; warps without rows are idle.
  const double packed = packed_queries(row.config, p);
  const double rows = std::ceil(packed / products.rows) * products.rows / std::max(1.0, packed);
  const double scores = static_cast<double>(p.b * p.hq) * lengths_of(p).queries * keys_met(p, products) * rows;
  const double rate = rate_of(products, device);
  return rate > 0 ? scores * products.columns / (rate * row.efficiency) : scores * products.columns;
}

// Families' add_code() was measured on an H100 with cold caches.

// Start of a family's model: tiles of queries, each of which goes through its split of the keys.
inline roofline::Kernel kernel_of(const Variant& row, const AttentionProblem& p, const Footprint& launch,
                                  const Products& products, const DeviceInfo& device, int splits = 1) {
  const Config& c = row.config;
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  // Every further tile of queries reads its keys again, from the L2 cache.
  const double keys_bytes = static_cast<double>(p.b * p.hq / pack_of(c, p) * (p.d + p.dv)) * lengths_of(p).keys *
                            static_cast<double>(size_of(p.dtype));
  k.l2_bytes = std::max(0.0, query_tiles(c, p) - 1) * keys_bytes * share_of_pairs(p);
  k.clocks = clocks_of(row, p, products, device);
  // Latency of a block: a trip for the queries, and one per tile of keys.
  k.trips = 1 + 2 * key_tiles(c, p, splits) * mma_stages / c.stages;
  k.trip_bytes = static_cast<double>(c.bn * (p.d + p.dv)) * static_cast<double>(size_of(p.dtype));
  k.tile_efficiency = roofline::tile_efficiency(p.sq, c.bm);
  return k;
}

}  // namespace ridge::attention_detail
