// 16 bytes of neighbouring channels per thread, of one window or of several neighbouring ones.
#pragma once
#include <ridge/pool/problem.hpp>

#include <cmath>

namespace ridge::pool_detail::channels {

// Threads down a column of outputs, for this type.
constexpr int below(const Config& c, DType dtype) { return size_of(dtype) == 2 ? c.below_16bit : c.below; }

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.y.shape[0] * ceil_div(p.y.shape[2], c.rows * below(c, p.dtype)) * below(c, p.dtype) *
         ceil_div(p.y.shape[3], c.columns) * ceil_div(p.y.shape[1], vector_elements(p.dtype));
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_others(p); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(c, p)); !why.empty()) return why;
  if (std::string why = refuse_window(c, p.window); !why.empty()) return why;
  return refuse_channels(p);
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads),
          .threads = c.threads,
          .registers = c.rows > 2    ? 80
                       : c.rows > 1  ? 64
                       : c.size == 3 ? 48
                                     : 40};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double h = static_cast<double>(p.window.size.h), w = static_cast<double>(p.window.size.w), taps = h * w;
  const double instructions = 6 + taps * (c.rows > 2 ? 1.2 : c.rows > 1 ? 1.7 : c.size > 0 ? 2.5 : 4);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = c.size > 0 ? 1 : std::max(1.0, h * std::ceil(w / 4));
  k.l2_bytes = k.bytes_read;  // other blocks read neighbouring rows of windows
  if (c.rows > 1) {
    const double in_rows = static_cast<double>(inputs_of(c.rows, c.stride, c.size));
    k.trips = in_rows / (c.rows_in_flight + 1);
    k.l2_bytes *= in_rows / (c.rows * c.stride) - 1;
  }
  k.trip_bytes = static_cast<double>(c.threads) * vector_bytes * std::min(taps, c.size > 0 ? 9.0 : 4.0);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::channels
