// What several families share: questions about a problem, refusals, and the start of a launch's model.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/pool/variants.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace ridge::pool_detail {

using Family = roofline::Family<Variant, PoolProblem>;
using roofline::Footprint;  // its registers: those that nvcc 13 allocates for sm_90a

inline std::string text(const PoolPair& pair) { return std::to_string(pair.h) + "x" + std::to_string(pair.w); }
// As one pair where both sides are alike, else as top,left,bottom,right.
inline std::string text(const PoolPad& pad) {
  if (pad == PoolPad{pad.top, pad.left}) return text(PoolPair{pad.top, pad.left});
  std::string sides = std::to_string(pad.top);
  for (const std::int64_t side : {pad.left, pad.bottom, pad.right}) sides += "," + std::to_string(side);
  return sides;
}

// Inputs along one axis for `outputs` neighbouring outputs, halo included.
constexpr std::int64_t inputs_of(std::int64_t outputs, std::int64_t stride, std::int64_t extent) {
  return (outputs - 1) * stride + extent;
}

inline double element_bytes(const PoolProblem& p) { return static_cast<double>(size_of(p.dtype)); }
inline double outputs_of(const PoolProblem& p) { return static_cast<double>(p.y.count()); }

// ---- windows at the end of the padded input

// Whether windows reach beyond the padded input, as those that ceil_mode adds may.
inline bool reach_beyond(const PoolProblem& p) {
  const auto beyond = [](std::int64_t outputs, std::int64_t stride, std::int64_t extent, std::int64_t padded) {
    return outputs > 0 && inputs_of(outputs, stride, extent) > padded;
  };
  const PoolWindow& window = p.window;
  const PoolPad& pad = window.pad;
  const PoolPair extent = window.extent();
  return !p.uneven && (beyond(p.y.shape[2], window.stride.h, extent.h, p.x.shape[2] + pad.top + pad.bottom) ||
                       beyond(p.y.shape[3], window.stride.w, extent.w, p.x.shape[3] + pad.left + pad.right));
}

// Whether the mean's divisor counts a window's padding but not all of the window. Without padding that is the divisor
// that counts inputs only.
inline bool clips(const PoolProblem& p) {
  return p.function == Pool::avg && p.window.count_include_pad && p.window.pad != PoolPad{} && reach_beyond(p);
}
// What kernels are told of count_include_pad.
inline bool counts_padding(const PoolProblem& p) {
  return p.window.count_include_pad && (p.window.pad != PoolPad{} || !reach_beyond(p));
}

// ---- where elements lie

// Distance between planes, over channels and images; none if they are not evenly spaced.
constexpr std::optional<std::int64_t> plane_pitch(const Layout& t) {
  if (t.shape[1] == 1) return t.shape[0] == 1 ? 0 : t.stride[0];
  if (t.shape[0] == 1 || t.stride[0] == t.shape[1] * t.stride[1]) return t.stride[1];
  return std::nullopt;
}

// Whether a view of contiguous channels and all of its strides start on 16-byte vectors.
inline bool channels_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t vector = vector_elements(dtype);
  for (int axis : {0, 2, 3})
    if (t.shape[axis] > 1 && t.stride[axis] % vector != 0) return false;
  return alignment >= vector_bytes;
}

// ---- refusals that families share; empty: none

// Of gradients, and of problems whose windows have no stride: they have families of their own.
inline std::string refuse_others(const PoolProblem& p) {
  if (p.backward) return "it has no gradient";
  return p.uneven ? "the windows are of several sizes, or overlap, as no stride says" : "";
}

// Of all but adaptive pooling to one output, the mean of whole planes.
inline std::string refuse_all_but_global(const PoolProblem& p) {
  const bool global =
      p.function == Pool::adaptive_avg && !p.uneven && !p.backward && p.y.shape[2] == 1 && p.y.shape[3] == 1;
  return global ? "" : "it is of adaptive pooling to one output";
}

// Of channels that are not 16-byte vectors.
inline std::string refuse_channels(const PoolProblem& p) {
  const auto contiguous = [](const Layout& t) { return t.shape[1] <= 1 || t.stride[1] == 1; };
  const bool values = p.backward && p.function == Pool::max;
  if (!contiguous(p.x) || !contiguous(p.y) || (values && (!contiguous(p.value_x) || !contiguous(p.value_y))))
    return "channels are not contiguous";
  const auto on_vectors = [&](const Layout& t, int alignment) { return channels_on_vectors(t, p.dtype, alignment); };
  if (p.x.shape[1] % vector_elements(p.dtype) != 0 || !on_vectors(p.x, p.align_x) || !on_vectors(p.y, p.align_y) ||
      (values && (!on_vectors(p.value_x, p.align_values) || !on_vectors(p.value_y, p.align_values))))
    return "channels are not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

// Of sizes that kernels with 32-bit indices do not count. items: threads with work, or blocks.
inline std::string refuse_large(const PoolProblem& p, std::int64_t items) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // sums of two of them have 31 bits
  const PoolPad& pad = p.window.pad;
  if (std::max(p.x.shape[2], p.x.shape[3]) >= most) return "a plane has a side of 2^30 or more";
  if (clips(p) && std::max(p.x.shape[2] + pad.top + pad.bottom, p.x.shape[3] + pad.left + pad.right) >= most)
    return "a padded plane has a side of 2^30 or more";
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
      outputs_of(p) * static_cast<double>(p.window.size.h + p.window.size.w - 2 + (p.function == Pool::max ? 0 : 1));
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
