// Evenly spaced rows of any alignment, read once, element by element, and kept in registers: rows with gaps of any
// size, tensors that are not co-aligned, and rows of f64.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::elements_of_rows {

// Elements of each tensor that a lane keeps of a row. Where they are many, half as many of gradients, which have two
// tensors, and of f64, which takes two registers for each.
constexpr int kept(const Config& c, bool backward, bool doubles) {
  constexpr int few = 4;
  return c.in_registers <= few ? c.in_registers : c.in_registers / (backward ? 2 : 1) / (doubles ? 2 : 1);
}
// The most elements of a row.
inline std::int64_t capacity(const Config& c, const SoftmaxProblem& p) {
  return std::int64_t{lanes(c)} * kept(c, p.backward, p.dtype == f64);
}

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (p.cols <= capacity(row.config, p)) return {};
  return "a row has " + std::to_string(p.cols) + " elements, and " + std::to_string(capacity(row.config, p)) +
         " are kept";
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c, c.rows_per_lane)),
          .threads = c.threads,
          .registers = c.rows_per_lane > 1 ? 40 : 64};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  k.trip_bytes = row_bytes(p) * static_cast<double>(rows_per_block(c, c.rows_per_lane)) * (p.backward ? 2 : 1);
  k.tile_efficiency = static_cast<double>(p.cols) / static_cast<double>(capacity(c, p));
  // Instructions, as counted in what nvcc makes of the kernels for sm_90a: of a place for an element, whether there is
  // one or not, and of a lane's row.
  const double of_place = p.dtype == f64 ? (p.backward ? 36 : 105) : p.backward ? 24 : 18, of_row = 60;
  const double lanes_of_rows = static_cast<double>(k.blocks * c.threads * c.rows_per_lane);
  constexpr double at_a_time = 128;  // threads: a multiprocessor issues for four warps
  k.clocks = lanes_of_rows * (of_place * kept(c, p.backward, p.dtype == f64) + of_row) / at_a_time;
  if (p.backward) k.block_us *= 0.6;                // no maximum, as of resident rows
  add_code(k, lanes(c) > device.warp ? 0.8 : 0.4);  // estimated, from norm's kernel of this kind
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::elements_of_rows
