// Gradients, of any windows: an input per thread, or the 16 bytes of a row or of channels.
#pragma once
#include <ridge/pool/gradient.hpp>

namespace ridge::pool_detail::gradient_pixels {

// Inputs of a thread.
constexpr std::int64_t at_once(const Config& c, DType dtype) {
  return c.vectors == Vectors::none ? 1 : vector_elements(dtype);
}
// Threads with work.
inline std::int64_t items_of(const Config& c, const PoolProblem& p) { return p.x.count() / at_once(c, p.dtype); }

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_all_but_gradients(p); !why.empty()) return why;
  if (c.wide) return {};
  if (std::string why = refuse_large_gradient(p, items_of(c, p)); !why.empty()) return why;
  if (c.vectors == Vectors::channels) return refuse_channels(p);
  return c.vectors == Vectors::columns ? refuse_rows(p) : "";
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads),
          .threads = c.threads,
          .registers = c.vectors == Vectors::channels ? 72 : 56};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double n = static_cast<double>(at_once(c, p.dtype)), windows = windows_of_input(p);
  const bool channels = c.vectors == Vectors::channels, values = reads_values(p);
  const double place = c.wide ? 400 : 80;  // divisions, or multiplications in their place
  // Of a window: its place and dy; of the maximum, y and the taps before the input too, of which a warp reads most.
  const double taps = static_cast<double>(p.window.size.h) * static_cast<double>(p.window.size.w);
  const double of_window = 14 + (values ? 10 + 4 * taps : 0.0);
  const double instructions = channels ? (place + windows * of_window) / n + windows * (values ? 4 + 2 * taps : 3)
                                       : place / n + (c.vectors == Vectors::columns ? 20 : 0) + windows * of_window;
  roofline::Kernel k = kernel_of_gradient(footprint(row, p, device), p, instructions);
  k.trips = std::max(1.0, windows) + (values ? 2 : 0);
  k.trip_bytes = c.threads * element_bytes(p) * n;
  if (channels && windows > 1) k.l2_bytes = k.bytes_read * windows;  // what other blocks have read too
  if (p.layout == PoolLayout::nchw && !channels) read_along_rows(k, p);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  if (row.config.vectors != Vectors::none) return "coalescing";
  return row.config.wide ? "" : "better maths";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::gradient_pixels
