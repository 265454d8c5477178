// float32 with a tile of scores, and one of O, in the registers of each thread.
#pragma once
#include <ridge/attention/parts.hpp>

namespace ridge::attention_kernels {

// Q^T [d][bm + pad], K^T [d][bn + pad], V [bn][dv], P^T [bn][bm + pad] of float32: every product iterates down the
// columns of both operands, and 16-byte accesses read neighbours.
constexpr int register_tile_bytes(const Config& c) {
  return (c.d * (c.bm + pad) + c.d * (c.bn + pad) + c.bn * c.dv + c.bn * (c.bm + pad)) * 4;
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail::register_tile {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_pages(p); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(register_tile_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const int splits = kv_splits_of(row, p, device);
  return footprint_of(row.config, blocks_of(row.config, p) * splits, register_tile_bytes(row.config),
                      bytes_of_parts(row, p, splits));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Products products{
      .rows = c.bm, .columns = multiply_adds(p, p.d, c.dv), .tflops = device.fp32_tflops};  // V is padded
  const int splits = kv_splits_of(row, p, device);
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device), products, device, splits);
  add_parts(k, p, splits);
  k.launches = splits > 1 ? 2 : 1;
  // Blocks that are alone on their multiprocessors, where several would hide each other's waits; H200.
  if (k.blocks <= device.sms) k.clocks *= 1 + 0.4 * (c.blocks_per_sm - 1);
  if (splits > 1) k.serial_us += merge_us;
  add_code(k, c.d > 128 ? 20 : 6);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{{fits, footprint, model, lesson}, kv_splits_of, bytes_of_parts};

}  // namespace ridge::attention_detail::register_tile
