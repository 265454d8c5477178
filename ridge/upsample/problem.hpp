// What several families share: questions about a problem, refusals, and the start of a launch's model.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/upsample/axis.hpp>
#include <ridge/upsample/variants.hpp>

#include <algorithm>
#include <string>

namespace ridge::upsample_detail {

using Family = roofline::Family<Variant, UpsampleProblem>;
using roofline::Footprint;  // its registers: an estimate; nvcc's figures are not known yet

inline double element_bytes(const UpsampleProblem& p) { return static_cast<double>(size_of(p.dtype)); }
inline bool blends(const UpsampleProblem& p) { return p.how.mode == Interpolation::bilinear; }

// The tensor that is written: y, or dx.
inline const Layout& written(const UpsampleProblem& p) { return p.backward ? p.x : p.y; }
inline double written_count(const UpsampleProblem& p) { return static_cast<double>(written(p).count()); }

inline Axis rows_axis(const UpsampleProblem& p) { return axis_of(p.how, p.x.shape[2], p.y.shape[2]); }
inline Axis columns_axis(const UpsampleProblem& p) { return axis_of(p.how, p.x.shape[3], p.y.shape[3]); }

// Elements of 16 bytes.
constexpr std::int64_t vector_of(const UpsampleProblem& p) { return vector_elements(p.dtype); }

// Whether y has twice the size of x and lies like this: pixel i is pixels 2 i and 2 i + 1 of y, in a mean at a quarter
// before and behind its middle.
inline bool is_twice(const UpsampleProblem& p) {
  return p.y.shape[2] == 2 * p.x.shape[2] && p.y.shape[3] == 2 * p.x.shape[3] && !p.how.align_corners;
}

// Whether the axis has elements one after the other.
inline bool is_contiguous(const Layout& t, int axis) { return t.shape[axis] <= 1 || t.stride[axis] == 1; }

// Whether all that lies along the contiguous axis starts on a vector of so many elements.
inline bool is_on_vectors(const Layout& t, int contiguous_axis, std::int64_t elements, DType dtype, int alignment) {
  for (int axis = 0; axis < 4; ++axis)
    if (axis != contiguous_axis && t.shape[axis] > 1 && t.stride[axis] % elements != 0) return false;
  return alignment >= elements * static_cast<std::int64_t>(size_of(dtype));
}

// ---- refusals that families share; empty: none

inline std::string refuse_direction(const UpsampleProblem& p, bool backward) {
  if (p.backward == backward) return {};
  return backward ? "it computes gradients alone" : "it computes no gradients";
}

// Of sizes that kernels with 32-bit indices do not count. items: threads with work, or blocks.
inline std::string refuse_large(const UpsampleProblem& p, std::int64_t items) {
  if (p.x.shape[1] >= 1 << 30) return "2^30 channels or more";
  return items >= Divider::limit ? "more than 2^31 pieces of work" : "";
}

inline std::string refuse_wide_places(const UpsampleProblem& p) {
  return is_narrow(rows_axis(p)) && is_narrow(columns_axis(p)) ? "" : "places that 31 bits do not hold";
}

inline std::string refuse_strided_rows(const UpsampleProblem& p) {
  return is_contiguous(p.x, 3) && is_contiguous(p.y, 3) ? "" : "a row's elements are not contiguous";
}

inline std::string refuse_strided_channels(const UpsampleProblem& p) {
  if (!is_contiguous(p.x, 1) || !is_contiguous(p.y, 1)) return "channels are not contiguous";
  const std::int64_t vector = vector_of(p);
  if (p.x.shape[1] % vector != 0 || !is_on_vectors(p.x, 1, vector, p.dtype, p.align_x) ||
      !is_on_vectors(p.y, 1, vector, p.dtype, p.align_y))
    return "channels are not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

// Of rows that rows_x2 and its gradient do not take: 16 bytes of y's are 8 bytes of x's.
inline std::string refuse_rows_but_twice(const UpsampleProblem& p) {
  if (!is_twice(p)) return "y has not twice the rows and columns of x, or its corners are aligned";
  if (std::string why = refuse_strided_rows(p); !why.empty()) return why;
  const std::int64_t vector = vector_of(p);
  if (p.x.shape[3] % (vector / 2) != 0 || !is_on_vectors(p.x, 3, vector / 2, p.dtype, p.align_x) ||
      !is_on_vectors(p.y, 3, vector, p.dtype, p.align_y))
    return "rows of x are not whole vectors of 8 bytes, on 8-byte addresses and those of y on 16-byte addresses";
  return {};
}

// ---- models

// Outputs that read an input along an axis, on average; what an output reads along it is at most 2.
inline double readers(const UpsampleProblem& p, int axis) {
  const double ratio =
      static_cast<double>(p.y.shape[axis]) / static_cast<double>(std::max<std::int64_t>(p.x.shape[axis], 1));
  return blends(p) ? 2 * ratio : ratio;
}
// New inputs along an axis for the next output: all that lie between, but no more than it reads.
inline double new_inputs(const UpsampleProblem& p, int axis) {
  const double ratio =
      static_cast<double>(p.x.shape[axis]) / static_cast<double>(std::max<std::int64_t>(p.y.shape[axis], 1));
  return std::min(ratio, blends(p) ? 2.0 : 1.0);
}

inline Cost cost(const UpsampleProblem& p) {
  const double planes = static_cast<double>(p.x.shape[0] * p.x.shape[1]), size = element_bytes(p);
  const double h = static_cast<double>(p.x.shape[2]), oh = static_cast<double>(p.y.shape[2]),
               w = static_cast<double>(p.x.shape[3]), ow = static_cast<double>(p.y.shape[3]);
  const double rows = std::min(h, oh * (blends(p) ? 2 : 1)), columns = std::min(w, ow * (blends(p) ? 2 : 1));
  Cost c;
  c.bytes_read = planes * size * (p.backward ? oh * ow : rows * columns);
  c.bytes_written = planes * size * (p.backward ? h * w : oh * ow);
  // Along one axis, then along the other: a product and a fused multiply-add per mean, and per term of a gradient, of
  // which a pixel of dy is two; where nothing is weighted, gradients add.
  if (p.backward) c.on(Unit::fp32) = planes * (blends(p) ? 4 : 1) * (oh * ow + std::min(h, oh) * ow);
  else if (blends(p)) c.on(Unit::fp32) = planes * 3 * (oh * ow + rows * ow);
  return c;
}

// The start of every family's model. instructions: per element written, counted in the source; four warps issue one
// each per clock.
inline roofline::Kernel kernel_of(const Footprint& launch, const UpsampleProblem& p, double instructions) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.clocks = written_count(p) / 32 * instructions / 4;
  return k;
}

}  // namespace ridge::upsample_detail
