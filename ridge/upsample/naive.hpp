// A thread per element of y, or of dx: any sizes, any strides.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::naive {

inline std::string fits(const Variant&, const UpsampleProblem&, const DeviceInfo&) { return {}; }

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(written(p).count(), c.threads), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const double taps = p.backward ? readers(p, 2) * readers(p, 3) : blends(p) ? 4 : 1;
  // Three 64-bit divisions for the element, and two for its places or four for the ends of its readers.
  const double instructions = (p.backward ? 280 + 16 * readers(p, 2) : 220) + (p.backward ? 20 : 10) * taps;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, taps / 4);
  k.trip_bytes = row.config.threads * element_bytes(p) * std::min(taps, 4.0);
  // Lanes are ordered along the innermost axis: where that is not contiguous, each element takes a sector.
  const int innermost = p.how.layout == UpsampleLayout::nchw ? 3 : 1;
  if (!is_contiguous(p.x, innermost) || !is_contiguous(p.y, innermost)) k.memory_share = element_bytes(p) / 32;
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::naive
