// A gradient, channels innermost: a thread sums 16 bytes of channels of one pixel of dx over the pixels of dy that read
// it.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::gradient_channels {

// Threads with work.
constexpr std::int64_t items_of(const UpsampleProblem& p) {
  return p.x.shape[0] * p.x.shape[2] * p.x.shape[3] * ceil_div(p.x.shape[1], vector_of(p));
}

inline std::string fits(const Variant&, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, true); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(p)); !why.empty()) return why;
  if (std::string why = refuse_wide_places(p); !why.empty()) return why;
  return refuse_strided_channels(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(p), c.threads), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const double taps = readers(p, 2) * readers(p, 3), vector = static_cast<double>(vector_of(p));
  const double instructions = 120 / vector + 2 * readers(p, 2) + taps * (2 + 16 / vector);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, taps / 4);
  k.trip_bytes = row.config.threads * vector_bytes * std::min(taps, 4.0);
  if (blends(p)) k.l2_bytes = k.bytes_read;  // two rows of dx read a row of dy, in other blocks
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::gradient_channels
