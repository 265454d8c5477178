// Contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/apply.hpp>

namespace ridge::batch_norm_detail::apply::planes {

// Whether each vector lies in one plane; else its position is computed in elements, which are more.
constexpr bool whole_planes(const BatchNormProblem& p) { return spatial(p.x) % vector_elements(p.dtype) == 0; }

// 16-byte vectors; the last may not be whole.
inline std::int64_t vectors_of(const BatchNormProblem& p) { return ceil_div(p.x.count(), vector_elements(p.dtype)); }

// Threads with work.
inline std::int64_t items_of(const ApplyConfig& c, const BatchNormProblem& p) {
  return ceil_div(vectors_of(p), c.threads * c.vectors) * c.threads;
}

inline std::string fits(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  // A thread has several vectors, which are numbered too.
  if (std::max(items_of(row.config, p), vectors_of(p)) >= Divider::limit) return "more than 2^31 pieces of work";
  if (!holds_for_all(p, [](const Layout& t, int) { return t.is_contiguous(); }))
    return "a tensor is not contiguous in the order n c h w";
  if (!holds_for_all(p, [](const Layout&, int alignment) { return alignment >= vector_bytes; }))
    return "a tensor does not start on 16 bytes";
  if (!whole_planes(p) && p.x.count() >= Divider::limit)
    return "planes are not whole vectors of 16 bytes, and elements more than 2^31";
  return {};
}

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = has_epilogue(p) ? 56 : 48};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of_vectors(row.config, footprint(row, p, device), p);
  // Planes of less than a vector: parameters for each plane in a vector.
  if (const std::int64_t of_vector = vector_elements(p.dtype), plane = spatial(p.x); plane > 0 && plane < of_vector)
    k.clocks += elements_of(p) / 32 / 4 * 160 *
                (1 / static_cast<double>(plane) + (of_vector % plane != 0 ? 1 / static_cast<double>(of_vector) : 0.0));
  return k;
}

inline std::string_view lesson(const ApplyVariant&) { return "coalescing"; }

inline constexpr ApplyFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::apply::planes
