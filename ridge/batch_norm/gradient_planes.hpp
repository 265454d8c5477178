// dx of contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/apply_planes.hpp>
#include <ridge/batch_norm/gradient.hpp>

namespace ridge::batch_norm_detail::gradient::planes {

using apply::planes::items_of;
using apply::planes::vectors_of;
using apply::planes::whole_planes;

inline std::string fits(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  if (std::max(items_of(row.config, p), vectors_of(p)) >= Divider::limit) return "more than 2^31 pieces of work";
  if (!holds_for_all_of_dx(p, [](const Layout& t, int) { return t.is_contiguous(); }))
    return "a tensor is not contiguous in the order n c h w";
  if (!holds_for_all_of_dx(p, [](const Layout&, int alignment) { return alignment >= vector_bytes; }))
    return "a tensor does not start on 16 bytes";
  if (!whole_planes(p) && p.x.count() >= Divider::limit)
    return "planes are not whole vectors of 16 bytes, and elements more than 2^31";
  return {};
}

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {
      .grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = by_dz(dz_for_dx(p), 64, 64, 80)};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of_dx_vectors(row.config, footprint(row, p, device), p);
  // Where a vector may lie in several planes, parameters are loaded for each of these.
  if (const std::int64_t plane = spatial(p.x); plane > 0 && !whole_planes(p))
    k.clocks += elements_of(p) / 32 / 4 * 200 / static_cast<double>(std::max(plane, vector_elements(p.dtype) / 2));
  return k;
}

inline std::string_view lesson(const ApplyVariant&) { return "coalescing"; }

inline constexpr GradientFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::gradient::planes
