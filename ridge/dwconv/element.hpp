// The definition: a thread per output; any strides and sizes.
#pragma once
#include <ridge/dwconv/problem.hpp>

namespace ridge::dwconv_detail {

constexpr std::int64_t element_grid(const Config& c, std::int64_t outputs) { return ceil_div(outputs, c.threads); }

namespace element {

inline std::int64_t largest_grid(const Config& c, const DwconvProblem& p) {
  return element_grid(c, p.channels * std::max(p.batch * p.time, summed_outputs(p)));
}

inline std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  return refuse_grid(largest_grid(row.config, p));
}

// Gradients take two launches: the grid is the larger one's.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  return {.grid = largest_grid(row.config, p), .threads = row.config.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // Two loads and their addresses per product.
  k.clocks = over_sums(p, [&](bool) { return all_products(p) / 32 * 4; });
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace element
}  // namespace ridge::dwconv_detail
