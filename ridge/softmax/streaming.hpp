// Rows that are read two or three times, element by element: the textbook's steps, and any strides.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::streaming {

constexpr bool has_gradient(const Config& c) { return c.algorithm != Algorithm::online; }

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (c.algorithm == Algorithm::strided) return {};
  if (p.backward && !has_gradient(c)) return "it has no gradient";
  return refuse_strides(p);
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  const int registers = c.algorithm == Algorithm::naive ? 24 : c.algorithm == Algorithm::three_pass ? 32 : 40;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c)), .threads = c.threads, .registers = registers};
}

// How often a thread waits for memory, in all passes. The first pass of three and the writing pass have four loads in
// flight (the compiler unrolls them), a pass with a running maximum and sum has one.
inline double trips(const Config& c, const SoftmaxProblem& p) {
  const double cols = static_cast<double>(p.cols), per_thread = std::ceil(cols / lanes(c)),
               by_fours = std::ceil(per_thread / 4);
  if (c.algorithm == Algorithm::naive) return cols;  // a third of the trips; others hit the cache
  return c.algorithm == Algorithm::three_pass ? 3 * by_fours : per_thread + by_fours;
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  const bool three_passes = c.algorithm == Algorithm::naive || c.algorithm == Algorithm::three_pass;
  read_again(k, three_passes ? 2 : 1, rows_per_block(c), p, device);
  if (p.x->step != 1 && p.cols > 1) {  // each element comes with the 32 bytes around it, for each pass and the result
    constexpr double sector = 32;
    k.l2_bytes += (three_passes ? 4 : 3) * sector * static_cast<double>(p.rows) * static_cast<double>(p.cols);
  }
  k.trips = trips(c, p);
  k.trip_bytes = std::min(row_bytes(p) * static_cast<double>(rows_per_block(c)),
                          static_cast<double>(element_bytes(p)) * c.threads);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  switch (row.config.algorithm) {
    case Algorithm::three_pass: return "coalescing";
    case Algorithm::online: return "better maths";
    default: return {};
  }
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::streaming
