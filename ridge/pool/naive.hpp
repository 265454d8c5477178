// A thread per output: any window, any strides.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail::naive {

inline std::string fits(const Variant&, const PoolProblem& p, const DeviceInfo&) { return refuse_others(p); }

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(p.y.count(), c.threads), .threads = c.threads, .registers = 48};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const double taps = static_cast<double>(p.window.size.h) * static_cast<double>(p.window.size.w);
  const double instructions = 160 + 8 * taps;  // three 64-bit divisions
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, taps / 4);
  k.trip_bytes = row.config.threads * element_bytes(p) * std::min(taps, 4.0);
  if (p.layout == PoolLayout::nchw) read_along_rows(k, p);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::naive
