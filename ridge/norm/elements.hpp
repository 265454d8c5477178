// Evenly spaced rows of any alignment, read once, element by element, and kept in registers: rows of views that are not
// co-aligned with the output's, as columns of a packed tensor are, and rows of f64.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::elements_of_rows {

// Elements of x, and of dy, in a lane's registers: of f64 half as many.
constexpr int kept(const Config& c, bool backward, bool doubles) {
  return c.in_registers / (backward ? 2 : 1) / (doubles ? 2 : 1);
}
// Elements of a parameter that a lane loads before the row's statistics are known: all of them, if there are registers
// for the row and `parameters` parameters; else none. bytes: of an element that is computed with.
constexpr int early(int kept, int parameters, std::size_t bytes) {
  constexpr int registers = 48;  // of 64 and more: the others are addresses, sums and conversions
  return kept * static_cast<int>(bytes / 4) * (1 + parameters) <= registers ? kept : 0;
}
// For a dependent launch, whose blocks prefetch their rows: more would only prefetch what they load at once.
inline constexpr std::int64_t most_rows = 2048;
// The most elements of a row that is kept.
inline std::int64_t capacity(const Config& c, const NormProblem& p) {
  return std::int64_t{lanes(c)} * kept(c, p.backward, p.dtype == f64);
}

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  for (const Rows& rows : *p.row_layouts)
    if (rows.step != 1 || rows.outer.rank > 1) return "a row's elements are not contiguous, or rows not evenly spaced";
  if (!p.parameters_contiguous) return "gamma, beta or a gradient of them is not contiguous";
  if (c.dependent_launch && p.rows > most_rows) return "it is for at most " + std::to_string(most_rows) + " rows";
  if (p.cols <= capacity(c, p)) return {};
  return "a row has " + std::to_string(p.cols) + " elements, and " + std::to_string(capacity(c, p)) + " are kept";
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums(
      {.grid = blocks_of(c, p), .threads = c.threads, .registers = roofline::registers_for(c.threads, c.blocks_per_sm)},
      c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.trip_bytes = row_bytes(p) * c.rows * tensors_kept(p);
  k.tile_efficiency = static_cast<double>(p.cols) / static_cast<double>(capacity(c, p));
  // Each element is a load, a store and conversions of its own, where a vector of them shares these; places without an
  // element take a third of that. Of 16 bits fitted to four problems on an H200; others estimated.
  const double places = static_cast<double>(p.rows * capacity(c, p));
  k.clocks = clocks_of(p, element_bytes(p) == 2 ? 7 : 3, (2 * elements(p) + places) / 3);
  k.block_us = (lanes(c) > device.warp ? 0.6 + 0.01 * c.threads / 32 : 0.2) + 0.3;
  add_code(k, c.in_registers > 16 ? 1.8 : 1.2);
  if (c.dependent_launch && device.cc == 90) k.serial_us -= 0.3;  // its start overlaps the end of the kernel before it
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::elements_of_rows
