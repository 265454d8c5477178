// Rows of float32 in double-float arithmetic, any strides, for devices whose float64 is slow.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::two_float {

// The most elements of a row that is kept in registers; longer ones are read in each pass. 0: all rows are.
constexpr std::int64_t capacity(const Config& c) { return std::int64_t{lanes(c)} * c.in_registers; }

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  if (p.dtype != f32 || p.backward) return "it is for rows of f32, forward";
  const std::int64_t most = capacity(row.config);
  if (most == 0 || p.cols <= most) return {};
  return "a row has " + std::to_string(p.cols) + " elements, and " + std::to_string(most) + " are kept";
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c)), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  const double elements = static_cast<double>(p.rows) * static_cast<double>(p.cols);
  constexpr double at_a_time = 128;  // threads: a multiprocessor issues for four warps
  // Two exponentials of 120 instructions, as counted in what nvcc makes of one for sm_90a, a quotient and a sum.
  k.clocks = 290 / at_a_time * elements;
  if (c.in_registers == 0) read_again(k, 2, rows_per_block(c), p, device);
  k.trips = c.in_registers == 0 ? 3 * std::ceil(static_cast<double>(p.cols) / lanes(c)) : 1;
  k.trip_bytes = std::min(row_bytes(p) * static_cast<double>(rows_per_block(c)), 4.0 * c.threads);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::two_float
