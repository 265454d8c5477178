// float32 in double-float arithmetic, for any strides and masks, without a softcap: 16x16 threads with a tile of scores
// from shared memory, online softmax.
#pragma once
#include <ridge/attention/tiled.hpp>

namespace ridge::attention_detail::two_float {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p, Computes::outputs); !why.empty()) return why;
  if (std::string why = refuse_grid(c, p); !why.empty()) return why;
  return refuse_smem(tiled::smem_bytes(c, p), device);
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  return footprint_of(row.config, blocks_of(row.config, p), tiled::smem_bytes(row.config, p));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Products products{.rows = row.config.bm,
                          .columns = multiply_adds(p, p.d, p.dv),
                          .tflops = device.fp32_tflops / two_float_multiply_add};
  return kernel_of(row, p, footprint(row, p, device), products, device);
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{{fits, footprint, model, lesson}};

}  // namespace ridge::attention_detail::two_float
