// The gradient of twice the size, channels innermost: a thread sums 16 bytes of channels of some pixels of a column of
// dx, by weights that are known when it is compiled. A row of dy is summed along columns once for the rows of dx
// around.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::gradient_channels_x2 {

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const UpsampleProblem& p) {
  return p.x.shape[0] * ceil_div(p.x.shape[2], c.rows) * p.x.shape[3] * ceil_div(p.x.shape[1], vector_of(p));
}

inline std::string fits(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, true); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(row.config, p)); !why.empty()) return why;
  if (!is_twice(p)) return "y has not twice the rows and columns of x, or its corners are aligned";
  return refuse_strided_channels(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = blends(p) ? 80 : 56};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double terms = blends(p) ? 4 : 2, in_rows = 2 * c.rows + terms - 2;
  const double instructions = 2 * in_rows * terms / c.rows + terms + 60 / (c.rows * static_cast<double>(vector_of(p)));
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = 2;  // in between, there are registers for half of the loads
  k.trip_bytes = c.threads * vector_bytes * in_rows * terms / 2;
  k.l2_bytes = k.bytes_read * (in_rows / (2 * c.rows) - 1);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::gradient_channels_x2
