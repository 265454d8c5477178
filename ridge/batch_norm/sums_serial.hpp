// A gradient's sums: a thread per channel.
#pragma once
#include <ridge/batch_norm/stats_serial.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail::sums::serial {

using stats::serial::grid_of;

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return refuse_grids(grid_of(row.config, p, device), p);
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  Footprint launch = footprint_of_sums(row.config, grid_of(row.config, p, device), p);
  launch.registers = 48;
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  const StatsGrid g = grid_of(c, p, device);
  roofline::Kernel k = kernel_of_sums(c, g, footprint(row, p, device), p);
  k.trips = std::max(1.0, static_cast<double>(g.items) / 4);
  k.trip_bytes = 8 * element_bytes(p) * c.threads;
  k.block_us = 0;
  if (!channels_innermost(p.x)) read_by_sectors(k, p);
  return k;
}

inline std::string_view lesson(const StatsVariant&) { return {}; }

inline constexpr SumsFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::sums::serial
