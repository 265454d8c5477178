// The families of batch norm's kernels, by the algorithm of a row's configuration.
#pragma once
#include <ridge/batch_norm/apply_channels.hpp>
#include <ridge/batch_norm/apply_element.hpp>
#include <ridge/batch_norm/apply_planes.hpp>
#include <ridge/batch_norm/gradient_channels.hpp>
#include <ridge/batch_norm/gradient_element.hpp>
#include <ridge/batch_norm/gradient_planes.hpp>
#include <ridge/batch_norm/stats_channels.hpp>
#include <ridge/batch_norm/stats_images.hpp>
#include <ridge/batch_norm/stats_planes.hpp>
#include <ridge/batch_norm/stats_serial.hpp>
#include <ridge/batch_norm/sums_channels.hpp>
#include <ridge/batch_norm/sums_images.hpp>
#include <ridge/batch_norm/sums_planes.hpp>
#include <ridge/batch_norm/sums_serial.hpp>

#include <iterator>

namespace ridge::batch_norm_detail {

inline constexpr const ApplyFamily* apply_families[] = {
    &apply::element::family,
    &apply::planes::family,
    &apply::channels::family,
};
static_assert(std::size(apply_families) == apply_algorithm_count);
inline const ApplyFamily& family_of(const ApplyVariant& row) {
  return *apply_families[static_cast<int>(row.config.algorithm)];
}

inline constexpr const StatsFamily* stats_families[] = {
    &stats::serial::family,
    &stats::planes::family,
    &stats::images::family,
    &stats::channels::family,
};
static_assert(std::size(stats_families) == stats_algorithm_count);
inline const StatsFamily& family_of(const StatsVariant& row) {
  return *stats_families[static_cast<int>(row.config.algorithm)];
}

// How each family of statistics divides its work, in the same order.
inline constexpr StatsGrid (*stats_grids[])(const StatsConfig&, const BatchNormProblem&, const DeviceInfo&) = {
    stats::serial::grid_of,
    stats::planes::grid_of,
    stats::images::grid_of,
    stats::channels::grid_of,
};
static_assert(std::size(stats_grids) == stats_algorithm_count);
inline StatsGrid stats_grid(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  return stats_grids[static_cast<int>(c.algorithm)](c, p, device);
}

// ---- gradients, in the same orders

inline constexpr const SumsFamily* sums_families[] = {
    &sums::serial::family,
    &sums::planes::family,
    &sums::images::family,
    &sums::channels::family,
};
static_assert(std::size(sums_families) == stats_algorithm_count);
inline const SumsFamily& sums_family_of(const StatsVariant& row) {
  return *sums_families[static_cast<int>(row.config.algorithm)];
}

inline constexpr const GradientFamily* gradient_families[] = {
    &gradient::element::family,
    &gradient::planes::family,
    &gradient::channels::family,
};
static_assert(std::size(gradient_families) == apply_algorithm_count);
inline const GradientFamily& gradient_family_of(const ApplyVariant& row) {
  return *gradient_families[static_cast<int>(row.config.algorithm)];
}

}  // namespace ridge::batch_norm_detail
