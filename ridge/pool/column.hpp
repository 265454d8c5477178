// A column of outputs in each thread's registers: any strides and padding.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail::column {

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], c.rows) * p.y.shape[3];
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_others(p); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(row.config, p)); !why.empty()) return why;
  return refuse_window(row.config, p.window);
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads),
          .threads = c.threads,
          .registers = c.size == 3 && c.stride == 2 ? 48 : 32};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double loads = static_cast<double>(inputs_of(c.rows, c.stride, c.size)) * c.size;
  const double instructions = 10 + 6 * loads / c.rows;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trip_bytes = c.threads * element_bytes(p) * loads;
  read_along_rows(k, p);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::column
