// A thread per channel, two passes.
#pragma once
#include <ridge/batch_norm/stats.hpp>

namespace ridge::batch_norm_detail::stats::serial {

constexpr StatsGrid grid_of(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo&) {
  const std::int64_t elements = per_channel(p.x);
  return {
      .groups = ceil_div(p.x.shape[1], c.threads), .items = elements, .slices = elements > 0 ? 1 : 0, .step = elements};
}

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return refuse_blocks(grid_of(row.config, p, device));
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  Footprint launch = footprint_of(row.config, grid_of(row.config, p, device), p);
  launch.registers = 48;
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  const StatsGrid g = grid_of(c, p, device);
  roofline::Kernel k = kernel_of(g, footprint(row, p, device), p);
  k.trips = 2 * static_cast<double>(g.items) / 4;
  k.bytes_read *= 2;
  k.trip_bytes = 4 * element_bytes(p) * c.threads;
  if (!channels_innermost(p.x)) read_by_sectors(k, p);
  return k;
}

inline std::string_view lesson(const StatsVariant&) { return {}; }

inline constexpr StatsFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::stats::serial
