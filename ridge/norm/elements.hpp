// Rows of any alignment and strides, read once, element by element, and kept in registers: rows of views that are not
// co-aligned with the output's, as columns of a packed tensor are, and rows of f64.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::elements_of_rows {

// Elements of x, and of dy, in a lane's registers.
constexpr int kept(const Config& c, bool backward) { return backward ? c.in_registers / 2 : c.in_registers; }
// The most elements of a row that is kept.
constexpr std::int64_t capacity(const Config& c, bool backward) { return std::int64_t{lanes(c)} * kept(c, backward); }

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (p.cols <= capacity(c, p.backward)) return {};
  return "a row has " + std::to_string(p.cols) + " elements, and " + std::to_string(capacity(c, p.backward)) +
         " are kept";
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums({.grid = blocks_of(c, p), .threads = c.threads, .registers = 64}, c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.trip_bytes = row_bytes(p) * c.rows * tensors_kept(p);
  k.tile_efficiency = static_cast<double>(p.cols) / static_cast<double>(capacity(c, p.backward));
  // Lanes without an element execute what those with one do. Each element is a load, a store and conversions of its
  // own, where a vector of them shares these.
  const double worked_on = static_cast<double>(p.rows * capacity(c, p.backward));
  k.clocks = clocks_of(p, element_bytes(p) == 2 ? 3 : 2, worked_on);
  k.block_us = (lanes(c) > device.warp ? 0.6 + 0.01 * c.threads / 32 : 0.2) * (p.norm == Norm::rms ? 1 : 2) + 0.5;
  add_code(k, 0.6);
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::elements_of_rows
