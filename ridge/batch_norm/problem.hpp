// What the families of both tables share: questions about a problem, and the work of a call.
#pragma once
#include <ridge/batch_norm/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/roofline/activation.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace ridge::batch_norm_detail {

using roofline::Footprint;  // its registers: those that nvcc 13 allocates for sm_90a

// ---- layouts of tensors: [n, c, h, w]

constexpr std::int64_t spatial(const Layout& t) { return t.shape[2] * t.shape[3]; }
constexpr std::int64_t per_channel(const Layout& t) { return t.shape[0] * spatial(t); }

// The stride from one position of a channel to the next, over images and space; none if they are not evenly spaced.
constexpr std::optional<std::int64_t> position_pitch(const Layout& t) {
  if (t.shape[2] != 1) return std::nullopt;
  if (t.shape[3] == 1) return t.shape[0] == 1 ? 0 : t.stride[0];
  if (t.shape[0] == 1 || t.stride[0] == t.shape[3] * t.stride[3]) return t.stride[3];
  return std::nullopt;
}

// Whether channels are contiguous, and those of every position are whole, aligned 16-byte vectors.
constexpr bool channels_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype);
  const auto pitch = position_pitch(t);
  return alignment >= vector_bytes && t.stride[1] == 1 && t.shape[1] % of_vector == 0 && pitch &&
         *pitch % of_vector == 0;
}

inline double element_bytes(const BatchNormProblem& p) { return static_cast<double>(size_of(p.dtype)); }
inline double elements_of(const BatchNormProblem& p) { return static_cast<double>(p.x.count()); }

// ---- what follows the norm

constexpr bool is_activated(const BatchNormProblem& p) { return p.options.activation != Activation::none; }
// Whether y is more than a channel's function of x.
constexpr bool has_epilogue(const BatchNormProblem& p) { return p.residual || is_activated(p); }

// Whether f(layout, alignment) holds for all that a forward pass reads and writes per element.
template <class F> constexpr bool holds_for_all(const BatchNormProblem& p, F&& f) {
  return f(p.x, p.align_x) && f(p.y, p.align_y) && (!p.residual || f(p.of_residual, p.align_residual));
}

inline double activation_instructions(const BatchNormProblem& p) {
  return roofline::activation_instructions(p.options.activation, p.dtype);
}

// The least work of the whole call, which may have a row of each table.
inline Cost cost(const BatchNormProblem& p) {
  const double n = elements_of(p), size = element_bytes(p);
  const double channels = static_cast<double>(p.x.shape[1]);
  const bool stats = p.function != BatchNorm::inference, apply = p.function != BatchNorm::stats;
  Cost c;
  c.bytes_read =
      n * size * (p.residual ? 2 : 1) + 4 * channels * ((stats ? 0 : 2) + (p.gamma ? 1 : 0) + (p.beta ? 1 : 0));
  c.bytes_written = (apply ? n * size : 0) + (stats ? 8 * channels : 0);
  c.on(Unit::fp32) =
      n * ((stats ? 4 : 0) + (apply ? 3 : 0) + (p.residual ? 1 : 0) + (apply ? activation_instructions(p) : 0));
  return c;
}

}  // namespace ridge::batch_norm_detail
