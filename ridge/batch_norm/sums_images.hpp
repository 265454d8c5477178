// A gradient's sums of small planes: blocks per some channels, lanes along their planes, the same vector in several
// images.
#pragma once
#include <ridge/batch_norm/stats_images.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail::sums::images {

using stats::images::grid_of;

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  if (spatial(p.x) > c.threads) return "a plane has more than " + std::to_string(c.threads) + " elements";
  using stats::images::images_on_vectors;
  if (!holds_for_all_summed(p,
                            [&](const Layout& t, int alignment) { return images_on_vectors(t, p.dtype, alignment); }))
    return "images are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  Footprint launch = footprint_of_sums(c, grid_of(c, p, device), p);
  launch.registers = by_dz(dz_of(p), 72, 120, 128);
  launch.smem = smem_of_sums(c, p.dtype);
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  roofline::Kernel k = kernel_of_sums(c, grid_of(c, p, device), footprint(row, p, device), p);
  k.block_us = 3;  // it combines as many sums as the planes have elements
  return k;
}

inline constexpr SumsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::sums::images
