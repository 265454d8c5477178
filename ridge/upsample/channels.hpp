// Channels innermost: a thread computes some vectors of 16 bytes of channels of one pixel of y.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::channels {

// Vectors of a pixel, and threads that share them.
constexpr std::int64_t vectors_of(const UpsampleProblem& p) { return ceil_div(p.x.shape[1], vector_of(p)); }
constexpr std::int64_t threads_of_pixel(const Config& c, const UpsampleProblem& p) {
  return ceil_div(vectors_of(p), c.vectors);
}

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const UpsampleProblem& p) {
  return p.y.shape[0] * p.y.shape[2] * p.y.shape[3] * threads_of_pixel(c, p);
}

inline std::string fits(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, false); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(row.config, p)); !why.empty()) return why;
  if (std::string why = refuse_wide_places(p); !why.empty()) return why;
  return refuse_strided_channels(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = blends(p) ? 64 : 40};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double vectors =
      static_cast<double>(std::min<std::int64_t>(c.vectors, std::max<std::int64_t>(vectors_of(p), 1)));
  const double of_pixel = (blends(p) ? 90 : 60) / (vectors * static_cast<double>(vector_of(p)));
  const double instructions = of_pixel + (blends(p) ? 10 : 1);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, vectors / 2);
  k.trip_bytes = c.threads * vector_bytes * std::min(vectors, 2.0) * new_inputs(p, 2) * new_inputs(p, 3);
  k.l2_bytes = k.bytes_read * std::max(0.0, readers(p, 2) - 1);  // of rows of y that read a row of x, in other blocks
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::channels
