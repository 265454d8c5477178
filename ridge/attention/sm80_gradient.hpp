// Gradients of f16 and bf16 with mma.sync, from Ampere on.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_kernels {

// A block's own rows of a side, Q and dO or K and V, [bm][d] each; two stages of the other side's, [bn][d] each, and of
// query_stats_bytes per query.
constexpr int mma_gradient_stage_bytes(const Config& c) {
  return 2 * mma_tile_bytes(c.bn, c.d) + c.bn * query_stats_bytes;
}
constexpr int mma_gradient_bytes(const Config& c) {
  return 2 * mma_tile_bytes(c.bm, c.d) + mma_stages * mma_gradient_stage_bytes(c);
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::mma_gradient {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::gradients); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(mma_gradient_bytes(c), device);
}

inline std::size_t workspace(const Variant&, const AttentionProblem& p, int) { return bytes_of_stats(p); }

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  return footprint_of(row.config, gradient_blocks(row.config, p), mma_gradient_bytes(row.config), workspace(row, p, 1));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Products products{.rows = c.bm,
                          .columns = static_cast<double>(5 * c.d + 3 * c.dv),  // each gradient has a kernel of its own
                          .tflops = device.fp16_tflops};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device);
  k.launches = 4;  // statistics, and the three gradients
  // Threads read masks pair by pair: measured on an H100, 64 to 1408 queries and keys.
  constexpr double read_by_threads = 3.5;
  if (p.mask != AttentionMask::none) k.clocks *= read_by_threads;
  // dK and dV have blocks of keys alone, and dQ of queries: either may be too few for the device, as predict() takes
  // their sum not to be.
  const double of_queries = (2 * c.d + c.dv) / products.columns;  // dQ's share of the products
  const double queries = idle_factor(query_blocks(c, p), device), keys = idle_factor(key_blocks(c, p), device);
  k.clocks *= (of_queries * queries + (1 - of_queries) * keys) / idle_factor(gradient_blocks(c, p), device);
  add_code(k, 40);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}, one_split, workspace};

}  // namespace ridge::attention_detail::mma_gradient
