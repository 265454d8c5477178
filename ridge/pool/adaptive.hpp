// Adaptive pooling, whose windows may differ in size and overlap: a thread per output, or per 16 bytes of its channels.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail::adaptive {

constexpr bool is_vectorized(const Config& c) { return c.vectors != Vectors::none; }

// Threads with work.
inline std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.y.count() / (is_vectorized(c) ? vector_elements(p.dtype) : 1);
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  if (p.backward) return "it has no gradient";
  if (!p.uneven) return "the windows are those of a stride";
  return is_vectorized(row.config) ? refuse_channels(p) : "";
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = is_vectorized(c) ? 64 : 48};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double taps = static_cast<double>(p.window.size.h) * static_cast<double>(p.window.size.w);
  const double at_once = is_vectorized(c) ? static_cast<double>(vector_elements(p.dtype)) : 1;
  const double instructions = 280 / at_once + (is_vectorized(c) ? 3 : 8) * taps;  // seven 64-bit divisions for a thread
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, taps / 4);
  k.trip_bytes = c.threads * element_bytes(p) * at_once * std::min(taps, 4.0);
  if (p.layout == PoolLayout::nchw) read_along_rows(k, p);
  return k;
}

inline std::string_view lesson(const Variant& row) { return is_vectorized(row.config) ? "coalescing" : ""; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::adaptive
