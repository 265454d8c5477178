// Channels innermost, twice the size: a thread computes 16 bytes of channels of four pixels of y. Copies are of one
// pixel of x; means are those of the four pixels of y that lie between the same four of x, or at an edge.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::channels_x2 {

// Fours of y along an axis of x: one per pixel, or one between each two pixels and at both ends.
constexpr std::int64_t fours_of(const UpsampleProblem& p, int axis) {
  return p.x.shape[axis] + (p.how.mode == Interpolation::bilinear ? 1 : 0);
}

// Threads with work.
constexpr std::int64_t items_of(const UpsampleProblem& p) {
  return p.x.shape[0] * fours_of(p, 2) * fours_of(p, 3) * ceil_div(p.x.shape[1], vector_of(p));
}

inline std::string fits(const Variant&, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, false); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(p)); !why.empty()) return why;
  if (!is_twice(p)) return "y has not twice the rows and columns of x, or its corners are aligned";
  return refuse_strided_channels(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(p), c.threads), .threads = c.threads, .registers = blends(p) ? 72 : 32};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const double of_four = (blends(p) ? 60 : 40) / (4 * static_cast<double>(vector_of(p)));
  const double instructions = of_four + (blends(p) ? 7 : 0.5);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trip_bytes = row.config.threads * vector_bytes;
  if (blends(p)) k.l2_bytes = k.bytes_read;  // a row of x is read by the fours on either side of it
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::channels_x2
