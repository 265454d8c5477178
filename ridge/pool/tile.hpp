// A tile of outputs in each thread's registers, of rows that start and end on 16-byte vectors.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail::tiled {

// Whether every row starts on a 16-byte vector.
constexpr bool rows_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t vector = vector_elements(dtype);
  return alignment >= vector_bytes && (t.shape[2] == 1 || t.stride[2] % vector == 0) &&
         plane_pitch(t).value_or(1) % vector == 0;
}
// Precondition of the loads: 16-byte vectors are wholly inside rows or wholly outside.
constexpr bool vector_loads(const PoolProblem& p) {
  return p.x.shape[3] % vector_elements(p.dtype) == 0 && rows_on_vectors(p.x, p.dtype, p.align_x);
}
constexpr bool vector_stores(const PoolProblem& p) { return rows_on_vectors(p.y, p.dtype, p.align_y); }

// Threads with work.
constexpr std::int64_t items_of(const Config& c, const PoolProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], c.rows) *
         ceil_div(p.y.shape[3], vector_elements(p.dtype));
}

inline std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_others(p); !why.empty()) return why;
  if (std::string why = refuse_large(p, items_of(c, p)); !why.empty()) return why;
  if (std::string why = refuse_window(c, p.window); !why.empty()) return why;
  if (p.window.pad.top != c.pad || p.window.pad.left != c.pad) return "the padding is not " + std::to_string(c.pad);
  if (clips(p)) return "the mean counts padding, and windows reach beyond it";
  if ((p.x.shape[3] > 1 && p.x.stride[3] != 1) || (p.y.shape[3] > 1 && p.y.stride[3] != 1))
    return "a row's elements are not contiguous";
  if (!plane_pitch(p.x) || !plane_pitch(p.y)) return "planes are not evenly spaced";
  if (!vector_loads(p)) return "rows of x are not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = c.size == 3 ? 64 : 48};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double instructions = 14 + (element_bytes(p) == 2 ? 2 : 0);
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trip_bytes = c.threads * static_cast<double>(inputs_of(c.rows, c.stride, c.size)) * c.stride * vector_bytes;
  k.overlap = 6;
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::tiled
