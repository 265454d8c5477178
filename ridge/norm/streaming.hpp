// Rows that are read for every pass, element by element: the textbook's steps, any strides, and rows of f64.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::streaming {

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  return refuse_two_float(row.config, p);
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums({.grid = blocks_of(c, p), .threads = c.threads, .registers = is_two_float(p) ? 64 : 40}, c, p,
                   device);
}

// How often a thread waits for memory, in all passes; a pass has four loads in flight.
inline double trips(const Config& c, const NormProblem& p) {
  const double per_thread = std::ceil(static_cast<double>(p.cols) / lanes(c)), at_once = lanes(c) == 1 ? 1 : 4;
  return (is_two_float(p) ? 2 : 3) * std::ceil(per_thread / at_once);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  read_again(k, is_two_float(p) ? 1 : p.backward ? 1.5 : 2, c, p, device);
  k.trips = trips(c, p);
  k.trip_bytes = std::min(row_bytes(p) * static_cast<double>(rows_per_block(c)),
                          static_cast<double>(element_bytes(p)) * c.threads);
  k.block_us = lanes(c) == 1 ? 0.25 : 2;  // a block's passes wait for one another's sums; on an H200
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  if (row.name == "block_reduce") return "coalescing";
  return {};
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::streaming
