// What several families share: questions about a problem, refusals, and the start of a launch's model.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/pool/variants.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <string>

namespace ridge::pool_detail {

using Family = roofline::Family<Variant, PoolProblem>;
using roofline::Footprint;  // its registers: those that nvcc 13 allocates for sm_90a

inline std::string text(const PoolPair& pair) { return std::to_string(pair.h) + "x" + std::to_string(pair.w); }

// Inputs along one axis for `outputs` neighbouring outputs, halo included.
constexpr std::int64_t inputs_of(std::int64_t outputs, std::int64_t stride, std::int64_t extent) {
  return (outputs - 1) * stride + extent;
}

inline double element_bytes(const PoolProblem& p) { return static_cast<double>(size_of(p.dtype)); }
inline double outputs_of(const PoolProblem& p) { return static_cast<double>(p.y.count()); }

// ---- refusals that families share; empty: none

// Of sizes that kernels with 32-bit indices do not count. items: threads with work, or blocks.
inline std::string refuse_large(const PoolProblem& p, std::int64_t items) {
  if (std::max(p.x.shape[2], p.x.shape[3]) >= 1 << 30) return "a plane has a side of 2^30 or more";
  return items >= Divider::limit ? "more than 2^31 pieces of work" : "";
}

// Of another window than the row is compiled for.
inline std::string refuse_window(const Config& c, const PoolWindow& window) {
  const PoolPair size{c.size, c.size};
  if (c.size > 0 && (window.size != size || window.dilation != PoolPair{})) return "the window is not " + text(size);
  if (c.stride > 0 && window.stride != PoolPair{c.stride, c.stride})
    return "the stride is not " + std::to_string(c.stride);
  return {};
}

// ---- models

inline Cost cost(const PoolProblem& p) {
  const auto touched = [](std::int64_t size, std::int64_t outputs, std::int64_t taps) {
    return static_cast<double>(std::min(size, outputs * taps));
  };
  const double size = element_bytes(p);
  Cost c;
  c.bytes_read = static_cast<double>(p.x.shape[0] * p.x.shape[1]) *
                 touched(p.x.shape[2], p.y.shape[2], p.window.size.h) *
                 touched(p.x.shape[3], p.y.shape[3], p.window.size.w) * size;
  c.bytes_written = outputs_of(p) * size;
  // Along rows, then along columns: the fewest operations for any window.
  c.on(Unit::fp32) =
      outputs_of(p) * static_cast<double>(p.window.size.h + p.window.size.w - 2 + (p.function == Pool::avg ? 1 : 0));
  return c;
}

// The start of every family's model. instructions: per output, counted in the source; four warps issue one each per
// clock.
inline roofline::Kernel kernel_of(const Footprint& launch, const PoolProblem& p, double instructions) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.clocks = outputs_of(p) / 32 * instructions / 4;
  return k;
}

// For lanes that are ordered along rows: where these are not contiguous, each element takes a sector.
inline void read_along_rows(roofline::Kernel& k, const PoolProblem& p) {
  if (p.x.stride[3] != 1 && p.x.shape[3] > 1) k.memory_share = element_bytes(p) / 32;
}

}  // namespace ridge::pool_detail
