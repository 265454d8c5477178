// Gradients of compiled windows, rows on 16 bytes: a tile of rows, 16 bytes wide, in each thread's registers.
#pragma once
#include <ridge/pool/gradient.hpp>

namespace ridge::pool_detail::gradient_rows {

// Threads with work.
inline std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.x.shape[0] * p.x.shape[1] * ceil_div(p.x.shape[2], c.rows) * (p.x.shape[3] / vector_elements(p.dtype));
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_all_but_gradients(p); !why.empty()) return why;
  if (std::string why = refuse_large_gradient(p, items_of(c, p)); !why.empty()) return why;
  if (std::string why = refuse_compiled_window(c, p); !why.empty()) return why;
  return refuse_rows(p);
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = c.size == 3 ? 128 : 64};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double taps = static_cast<double>(c.size * c.size), windows = windows_of_input(p);
  // Of a window: dy, of the maximum y too, and each of its taps that may come before or in the tile.
  const double instructions = 10 + windows * (reads_values(p) ? 12 + 4 * taps : 8 + taps);
  roofline::Kernel k = kernel_of_gradient(footprint(row, p, device), p, instructions);
  k.trip_bytes = c.threads * vector_bytes * (reads_values(p) ? c.rows + c.size - 1.0 : 0) +
                 c.threads * c.rows * vector_bytes * windows / taps * (reads_values(p) ? 2 : 1);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::gradient_rows
