// A thread computes a vector of neighbouring columns of y (or as many that are apart, where rows of y start anywhere),
// and walks down some of its rows: what an input row gives along columns is computed once, and kept for all rows of y
// that lie beside it.
#pragma once
#include <ridge/upsample/problem.hpp>

namespace ridge::upsample_detail::rows {

// Threads along a row of y.
constexpr std::int64_t threads_across(const UpsampleProblem& p) { return ceil_div(p.y.shape[3], vector_of(p)); }

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const UpsampleProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], c.rows) * threads_across(p);
}

// Whether a thread's columns are neighbours, stored as a vector.
inline bool stores_vectors(const UpsampleProblem& p) {
  return p.y.shape[3] % vector_of(p) == 0 && is_on_vectors(p.y, 3, vector_of(p), p.dtype, p.align_y);
}

inline std::string fits(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_direction(p, false); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(row.config, p)); !why.empty()) return why;
  if (std::string why = refuse_wide_places(p); !why.empty()) return why;
  return refuse_strided_rows(p);
}

inline Footprint footprint(const Variant& row, const UpsampleProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = blends(p) ? 72 : 48};
}

inline roofline::Kernel model(const Variant& row, const UpsampleProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double rows = static_cast<double>(std::clamp<std::int64_t>(p.y.shape[2], 1, c.rows));  // of y, of a thread
  const double loads = new_inputs(p, 2), places = (blends(p) ? 20 : 10) / rows;
  const double store = stores_vectors(p) ? 1 : 4;  // element by element: a comparison, an address, the store
  roofline::Kernel k =
      kernel_of(footprint(row, p, device), p, (blends(p) ? 4 + 12 * loads : 1 + 3 * loads) + places + store);
  const double rows_read = std::max(1.0, rows * loads) + (blends(p) ? 1 : 0);  // of x
  k.trips = std::max(1.0, rows * std::min(loads, 1.0));
  k.trip_bytes = c.threads * element_bytes(p) * static_cast<double>(vector_of(p)) * std::min(1.0, new_inputs(p, 3));
  if (loads > 0) k.l2_bytes = k.bytes_read * (rows_read / (rows * loads) - 1);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::upsample_detail::rows
