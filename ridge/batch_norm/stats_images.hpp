// Small planes: blocks per some channels, lanes along their planes, the same vector in several images.
#pragma once
#include <ridge/batch_norm/stats.hpp>

namespace ridge::batch_norm_detail::stats::images {

// Whether images are contiguous and whole, aligned 16-byte vectors.
constexpr bool images_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype), plane = spatial(t);
  return alignment >= vector_bytes && t.shape[2] == 1 && (t.shape[3] == 1 || t.stride[3] == 1) &&
         (t.shape[1] == 1 || t.stride[1] == plane) && t.shape[1] * plane % of_vector == 0 &&
         (t.shape[0] == 1 || t.stride[0] % of_vector == 0);
}

// A block's vector_elements() channels are as many vectors as a plane has elements.
constexpr StatsGrid grid_of(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t least_steps = 4;  // fewer take less time than a second launch
  StatsGrid g{.groups = ceil_div(p.x.shape[1], elements_of_load(c, p.dtype)),
              .items = per_channel(p.x) > 0 ? p.x.shape[0] : 0,
              .columns = static_cast<int>(std::clamp<std::int64_t>(spatial(p.x), 1, c.threads))};
  g.step = std::int64_t{c.threads} / g.columns * c.loads;
  g.slices = slices_of(c, g, device, least_steps);
  return g;
}

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  if (spatial(p.x) > c.threads) return "a plane has more than " + std::to_string(c.threads) + " elements";
  if (!images_on_vectors(p.x, p.dtype, p.align_x))
    return "images are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  Footprint launch = footprint_of(row.config, grid_of(row.config, p, device), p);
  launch.registers = 64;
  launch.smem = smem_of_lanes(row.config, p.dtype);
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  roofline::Kernel k = kernel_of_pass(c, grid_of(c, p, device), footprint(row, p, device), p, c.loads);
  k.block_us = 3;  // it combines as many sums as the planes have elements
  return k;
}

inline constexpr StatsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::stats::images
