// Textbook attention and its gradients, for any strides: a block per query, or per key.
#pragma once
#include <ridge/attention/gradient.hpp>

namespace ridge::attention_detail::naive {

inline std::string fits(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_row(row, p, Computes::both); !why.empty()) return why;
  return refuse_grid(row.config, p);
}

inline std::size_t workspace(const Variant&, const AttentionProblem& p, int) {
  return p.backward ? bytes_of_stats(p) : 0;
}

inline Footprint footprint(const Variant& row, const AttentionProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return footprint_of(c, p.backward ? gradient_blocks(c, p) : blocks_of(c, p), 0, workspace(row, p, 1));
}

inline roofline::Kernel model(const Variant& row, const AttentionProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  // For gradients, products are computed on both sides.
  const double columns = p.backward ? static_cast<double>(4 * p.d + 3 * p.dv) : multiply_adds(p, p.d, p.dv);
  roofline::Kernel k = kernel_of(row, p, footprint(row, p, device),
                                 {.rows = c.bm, .columns = columns, .tflops = device.fp32_tflops}, device);
  if (p.backward) k.launches = 3;  // statistics, and one per side
  else add_code(k, 12);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{{fits, footprint, model, lesson}, one_split, workspace};

}  // namespace ridge::attention_detail::naive
