// Gradients of compiled windows, channels innermost: a tile of inputs, 16 bytes of channels each, in each thread's
// registers.
#pragma once
#include <ridge/pool/gradient.hpp>

namespace ridge::pool_detail::gradient_tiles {

// Threads with work.
inline std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.x.shape[0] * ceil_div(p.x.shape[2], c.rows) * ceil_div(p.x.shape[3], c.columns) *
         (p.x.shape[1] / vector_elements(p.dtype));
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_all_but_gradients(p); !why.empty()) return why;
  if (std::string why = refuse_large_gradient(p, items_of(c, p)); !why.empty()) return why;
  if (std::string why = refuse_compiled_window(c, p); !why.empty()) return why;
  return refuse_channels(p);
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = c.size == 3 ? 168 : 80};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const bool values = reads_values(p);
  const double n = static_cast<double>(vector_elements(p.dtype)), taps = static_cast<double>(c.size * c.size);
  const double windows = windows_of_input(p), inputs = static_cast<double>(c.rows * c.columns);
  const double instructions = 60 / (n * inputs) + windows * (values ? 4 + 3 * taps : 2 + taps);
  roofline::Kernel k = kernel_of_gradient(footprint(row, p, device), p, instructions);
  // Loads of a thread: its inputs and, of windows of 3, one and a half rows and columns around them; dy, and y.
  const double loads = (values ? inputs * (c.size == 3 ? 3.75 : 1) : 0) + (c.size == 3 ? 4 : 1) * (values ? 2 : 1);
  if (c.size > c.stride) k.l2_bytes = k.bytes_read;  // other blocks read neighbouring inputs and windows
  k.trip_bytes = c.threads * vector_bytes * loads;
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::gradient_tiles
