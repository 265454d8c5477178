// Gradients in float32 with tiles of scores, dP and sums in the registers of each thread.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_kernels {

// Rows of both sides, [bm or bn][d + pad] and [..][dv + pad], and P transposed, [bn][bm + pad], all float32; statistics
// of each query. The padding puts consecutive rows into different banks.
constexpr int gradient_tile_bytes(const Config& c) {
  const int stats = (c.bm > c.bn ? c.bm : c.bn) * query_stats_bytes;
  return ((c.bm + c.bn) * (c.d + pad + c.dv + pad) + c.bn * (c.bm + pad)) * 4 + stats;
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::gradient_tile {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::gradients); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(gradient_tile_bytes(c), device);
}

inline std::size_t workspace(const Variant&, const AttentionProblem& p, int) { return bytes_of_stats(p); }

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  return footprint_of(row.config, gradient_blocks(row.config, p), gradient_tile_bytes(row.config),
                      workspace(row, p, 1));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  // Products are computed for each side; the three sums have padded rows.
  const Products products{
      .rows = c.bm, .columns = static_cast<double>(2 * (p.d + p.dv) + 2 * c.d + c.dv), .tflops = device.fp32_tflops};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device);
  k.launches = 3;  // statistics, and one per side
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{{fits, footprint, model, lesson}, one_split, workspace};

}  // namespace ridge::attention_detail::gradient_tile
