// The gradient of twice the size: a thread sums a tile of dx from rows of dy in registers, by weights that are known
// when it is compiled.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::gradient_rows_x2 {

// Columns of dx per thread, of 8 bytes; those of dy have 16. Precondition: refuse_rows_but_twice() is empty.
constexpr std::int64_t columns_of(const UpsampleProblem& p) { return vector_of(p) / 2; }

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const UpsampleProblem& p) {
  return p.x.shape[0] * p.x.shape[1] * ceil_div(p.x.shape[2], c.rows) * (p.x.shape[3] / columns_of(p));
}

inline std::string fits(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, true); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(row.config, p)); !why.empty()) return why;
  return refuse_rows_but_twice(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = blends(p) ? 80 : 48};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double in_rows = 2 * c.rows + (blends(p) ? 2 : 0);
  // Along columns per row of dy, then along rows: of means 4 and 4 terms, and an element of dy is converted.
  const double instructions = blends(p) ? 12 * in_rows / c.rows / 2 + 4 + 12 : 10;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trip_bytes = c.threads * in_rows * vector_bytes;
  k.l2_bytes = k.bytes_read * (in_rows / (2 * c.rows) - 1);
  k.overlap = 6;  // all loads of a thread are in flight before the first use, as in pool's tile
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::gradient_rows_x2
