// The mean of each plane, of planes that are contiguous: lanes of a warp, or a block, along each.
#pragma once
#include <ridge/pool/problem.hpp>

namespace ridge::pool_detail::global_planes {

inline std::int64_t planes_of(const PoolProblem& p) { return p.x.shape[0] * p.x.shape[1]; }
inline std::int64_t elements_of(const PoolProblem& p) { return p.x.shape[2] * p.x.shape[3]; }

// Whether planes are whole, aligned 16-byte vectors.
inline bool planes_on_vectors(const PoolProblem& p) {
  const std::int64_t vector = vector_elements(p.dtype);
  return p.align_x >= vector_bytes && elements_of(p) % vector == 0 &&
         (p.x.shape[0] == 1 || p.x.stride[0] % vector == 0) && (p.x.shape[1] == 1 || p.x.stride[1] % vector == 0);
}
// Loads of a plane.
inline std::int64_t items_of(const PoolProblem& p) {
  return elements_of(p) / (planes_on_vectors(p) ? vector_elements(p.dtype) : 1);
}

inline std::string fits(const Variant&, const PoolProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_all_but_global(p); !why.empty()) return why;
  if (std::string why = refuse_large(p, std::max(planes_of(p), elements_of(p))); !why.empty()) return why;
  if ((p.x.shape[3] > 1 && p.x.stride[3] != 1) || (p.x.shape[2] > 1 && p.x.stride[2] != p.x.shape[3]))
    return "a plane's elements are not contiguous";
  return {};
}

inline Footprint footprint(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = ceil_div(planes_of(p), c.threads / c.lanes), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t items = items_of(p);
  const double elements = static_cast<double>(elements_of(p)), at_once = elements / static_cast<double>(items);
  // Of a plane: a load and its comparison for each item, absent ones too, one addition per element, and of each lane
  // its place and the steps of the reduction.
  const double rounds = static_cast<double>(ceil_div(items, c.lanes * c.loads));
  const double instructions = rounds * c.lanes * c.loads * 4 + 2 * elements + 60.0 * c.lanes;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p, instructions);
  k.trips = rounds;
  k.trip_bytes =
      c.threads * element_bytes(p) * at_once * std::min<double>(c.loads, static_cast<double>(ceil_div(items, c.lanes)));
  if (c.lanes > device.warp) k.block_us = 1;  // a barrier
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::pool_detail::global_planes
