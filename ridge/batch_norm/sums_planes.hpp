// A gradient's sums: blocks per channel, lanes along its planes.
#pragma once
#include <ridge/batch_norm/stats_planes.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail::sums::planes {

using stats::planes::grid_of;

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  using stats::planes::planes_on_vectors;
  const auto on_vectors = [&](const Layout& t, int alignment) { return planes_on_vectors(t, p.dtype, alignment); };
  if (c.vectorized && !holds_for_all_summed(p, on_vectors))
    return "planes are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  Footprint launch = footprint_of_sums(c, grid_of(c, p, device), p);
  launch.registers = 64;
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  roofline::Kernel k = kernel_of_sums(c, grid_of(c, p, device), footprint(row, p, device), p);
  if (spatial(p.x) > 1 && !holds_for_all_summed(p, [](const Layout& t, int) { return t.stride[3] == 1; }))
    read_by_sectors(k, p);
  return k;
}

inline constexpr SumsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::sums::planes
