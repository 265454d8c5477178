// What the families share: questions about a problem, and the least work of a call.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/group_norm/variants.hpp>
#include <ridge/roofline/activation.hpp>
#include <ridge/roofline/family.hpp>

#include <string>

namespace ridge::group_norm_detail {

using Family = roofline::Family<Variant, GroupNormProblem>;
using roofline::Footprint;  // its registers are the bounds that the kernels set the compiler

// ---- layouts of tensors: [n, c, h, w]

constexpr std::int64_t spatial(const Layout& t) { return t.shape[2] * t.shape[3]; }

constexpr std::int64_t samples(const GroupNormProblem& p) { return p.x.shape[0]; }
constexpr std::int64_t channels(const GroupNormProblem& p) { return p.x.shape[1]; }
constexpr std::int64_t channels_of_group(const GroupNormProblem& p) { return channels(p) / p.options.groups; }
constexpr std::int64_t elements_of_group(const GroupNormProblem& p) { return channels_of_group(p) * spatial(p.x); }
constexpr std::int64_t groups_of_all(const GroupNormProblem& p) { return samples(p) * p.options.groups; }

constexpr bool is_empty(const GroupNormProblem& p) { return samples(p) == 0 || channels(p) == 0 || spatial(p.x) == 0; }
constexpr bool wants_sums(const GroupNormProblem& p) { return p.dgamma || p.dbeta; }

inline double element_bytes(const GroupNormProblem& p) { return static_cast<double>(size_of(p.dtype)); }
inline double elements(const GroupNormProblem& p) { return static_cast<double>(p.x.count()); }

// Whether f(layout, alignment in bytes) holds for x, y (or dx) and, backward, dy.
template <class F> constexpr bool holds_for_all(const GroupNormProblem& p, F&& f) {
  return f(p.x, p.align_x) && f(p.y, p.align_y) && (!p.backward || f(p.dy, p.align_dy));
}

// ---- models

inline double activation_instructions(const GroupNormProblem& p) {
  return roofline::activation_instructions(p.options.activation, p.dtype);
}

// The least work of a call. Forward: two sums of distances; difference, scale, shift. Backward: these, the sums of dy
// and dy n, and dx.
inline Cost cost(const GroupNormProblem& p) {
  const double n = elements(p), size = element_bytes(p), of_channels = 4 * static_cast<double>(channels(p));
  Cost c;
  c.bytes_read = n * size * (p.backward ? 2 : 1) + of_channels * ((p.gamma ? 1 : 0) + (p.beta ? 1 : 0));
  c.bytes_written = n * size + of_channels * ((p.dgamma ? 1 : 0) + (p.dbeta ? 1 : 0));
  c.on(Unit::fp32) = n * ((p.backward ? 17 : 8) + activation_instructions(p));
  return c;
}

// Clocks of all multiprocessors for this many instructions for each element: four schedulers issue 32 lanes each.
inline double clocks_of(const GroupNormProblem& p, double instructions) { return elements(p) / 32 / 4 * instructions; }

}  // namespace ridge::group_norm_detail
