// 16x16 scores per iteration from shared memory, online softmax, any strides; with few queries, blocks split the keys.
#pragma once
#include <ridge/attention/parts.hpp>

namespace ridge::attention_kernels {

// Q [bm][d + 1], K [bn][d + 1], V [bn][dv] of float32; d and dv are those of the problem.
constexpr int tiled_bytes(const Config& c, int d, int dv) { return ((c.bm + c.bn) * (d + 1) + c.bn * dv) * 4; }

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::tiled {

inline int smem_bytes(const Config& c, const AttentionProblem& p) {
  return tiled_bytes(c, static_cast<int>(p.d), static_cast<int>(p.dv));
}

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = c.split ? "" : refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(smem_bytes(c, p), device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int splits = kv_splits_of(row, p, device);
  return footprint_of(c, blocks_of(c, p) * splits, smem_bytes(c, p), bytes_of_parts(row, p, splits));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int splits = kv_splits_of(row, p, device);
  const Products products{
      .rows = c.split ? 1 : c.bm, .columns = multiply_adds(p, p.d, p.dv), .tflops = device.fp32_tflops};
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device, splits);
  add_parts(k, p, splits);
  k.launches = splits > 1 ? 2 : 1;
  add_code(k, 6);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{{fits, footprint, model, lesson}, kv_splits_of, bytes_of_parts};

}  // namespace ridge::attention_detail::tiled
