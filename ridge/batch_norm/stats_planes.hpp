// Blocks per channel, lanes along its planes.
#pragma once
#include <ridge/batch_norm/stats.hpp>

namespace ridge::batch_norm_detail::stats::planes {

// Whether planes are contiguous and whole, aligned 16-byte vectors.
constexpr bool planes_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype);
  return alignment >= vector_bytes && t.shape[2] == 1 && t.stride[3] == 1 && t.shape[3] % of_vector == 0 &&
         (t.shape[0] == 1 || t.stride[0] % of_vector == 0) && (t.shape[1] == 1 || t.stride[1] % of_vector == 0);
}

constexpr StatsGrid grid_of(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  StatsGrid g{.groups = p.x.shape[1],
              .items = per_channel(p.x) / elements_of_load(c, p.dtype),
              .step = std::int64_t{c.threads} * c.loads};
  g.slices = slices_of(c, g, device);
  return g;
}

inline std::string fits(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  if (std::string why = refuse_grids(grid_of(c, p, device), p); !why.empty()) return why;
  if (c.vectorized && !planes_on_vectors(p.x, p.dtype, p.align_x))
    return "planes are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  Footprint launch = footprint_of(row.config, grid_of(row.config, p, device), p);
  launch.registers = 48;
  return launch;
}

inline roofline::Kernel model(const StatsVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const StatsConfig& c = row.config;
  const double at_once = c.loads * static_cast<double>(elements_of_load(c, p.dtype));
  roofline::Kernel k = kernel_of_pass(c, grid_of(c, p, device), footprint(row, p, device), p, at_once);
  if (p.x.stride[3] != 1 && spatial(p.x) > 1) read_by_sectors(k, p);
  return k;
}

inline constexpr StatsFamily family{fits, footprint, model, lesson_of_pass};

}  // namespace ridge::batch_norm_detail::stats::planes
