// f16 and bf16 with mma.sync, from Ampere on; with few queries, blocks split the keys.
#pragma once
#include <ridge/attention/parts.hpp>

namespace ridge::attention_kernels {

// Q, and stages of K [bn][d] and V [bn][dv], of 16-bit elements.
constexpr int mma_bytes(const Config& c) {
  return mma_q_bytes(c) + mma_stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv));
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::mma_sync {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (std::string why = c.split ? "" : refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(mma_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int splits = kv_splits_of(row, p, device);
  return footprint_of(c, blocks_of(c, p) * splits, mma_bytes(c), bytes_of_parts(row, p, splits));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int splits = kv_splits_of(row, p, device);
  // Its efficiencies include the edge of a causal mask; a window has another one.
  const Products products{.rows = c.rows,
                          .columns = multiply_adds(p, c.d, c.dv),
                          .tflops = device.fp16_tflops,
                          .edge_keys = has_far_edge(p) ? c.bn : 0};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device, splits);
  add_parts(k, p, splits);
  k.launches = splits > 1 ? 2 : 1;
  if (c.split) {
    k.memory_share = 0.53;  // measured: a block's copies are two tiles, between barriers
  } else if (rate_of(products, device) > 0) {
    // Prologue and epilogue of a tile, measured on an H100 with short sequences.
    constexpr double tile_clocks = 7000;
    k.clocks += static_cast<double>(p.b * p.hq) * query_tiles(c, p) * tile_clocks;
  }
  add_code(k, c.split ? 11 : c.d > 128 ? 20 : 6);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, kv_splits_of, bytes_of_parts};

}  // namespace ridge::attention_detail::mma_sync
