// Blocks per some channels, lanes along channels first.
#pragma once
#include <ridge/batch_norm/stats.hpp>

#include <bit>

namespace ridge::batch_norm_detail::stats::channels {

constexpr StatsGrid grid_of(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t most_columns = 32;
  const std::int64_t of_load = elements_of_load(c, p.dtype);
  const std::int64_t wanted = std::clamp<std::int64_t>(p.x.shape[1] / of_load, 1, most_columns);
  const int columns = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
  StatsGrid g{.groups = ceil_div(p.x.shape[1], columns * of_load),
              .items = per_channel(p.x),
              .step = std::int64_t{c.threads} / columns * c.loads,
              .columns = columns};
  g.slices = slices_of(c, g, device);
  return g;
}

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  if (c.vectorized && !channels_on_vectors(p.x, p.dtype, p.align_x))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  Footprint launch = footprint_of(c, grid_of(c, p, device), p);
  launch.registers = c.vectorized ? 80 : 48;
  launch.smem = smem_of_lanes(c, p.dtype);
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  roofline::Kernel k = kernel_of_pass(c, grid_of(c, p, device), footprint(row, p, device), p, c.loads);
  if (!channels_innermost(p.x) && p.x.shape[1] > 1) read_by_sectors(k, p);
  return k;
}

inline constexpr StatsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::stats::channels
