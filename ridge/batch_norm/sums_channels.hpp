// A gradient's sums: blocks per some channels, lanes along channels first.
#pragma once
#include <ridge/batch_norm/stats_channels.hpp>
#include <ridge/batch_norm/sums.hpp>

namespace ridge::batch_norm_detail::sums::channels {

using stats::channels::grid_of;

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  const auto on_vectors = [&](const Layout& t, int alignment) { return channels_on_vectors(t, p.dtype, alignment); };
  if (c.vectorized && !holds_for_all_summed(p, on_vectors))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  Footprint launch = footprint_of_sums(c, grid_of(c, p, device), p);
  launch.registers = c.vectorized ? by_dz(dz_of(p), 72, 120, 128) : 64;
  launch.smem = smem_of_sums(c, p.dtype);
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  roofline::Kernel k = kernel_of_sums(c, grid_of(c, p, device), footprint(row, p, device), p);
  if (p.x.shape[1] > 1 && !holds_for_all_summed(p, [](const Layout& t, int) { return channels_innermost(t); }))
    read_by_sectors(k, p);
  return k;
}

inline constexpr SumsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::sums::channels
