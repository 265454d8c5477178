// What the families of statistics share: how a channel's work is divided, refusals, and the start of a launch's model.
#pragma once
#include <ridge/batch_norm/problem.hpp>
#include <ridge/tile/columns.hpp>

namespace ridge::batch_norm_detail {

using StatsFamily = roofline::Family<StatsVariant, BatchNormProblem>;

// How a statistics kernel divides its work. A channel's items are elements, 16-byte vectors of its planes, or
// positions.
struct StatsGrid {
  std::int64_t groups = 0;  // channels, or column blocks of channels, that blocks do not share
  std::int64_t items = 0;   // of a channel; Stats::images: images
  std::int64_t slices = 0;  // of a channel: blocks, and partial results if there are several
  std::int64_t step = 1;    // items that a block takes at a time
  int columns = 1;          // lanes along channels; images: along planes
  constexpr std::int64_t blocks() const { return groups * slices; }
};

// Slices that fill the device's multiprocessors with blocks, each of at least this many steps of a block.
constexpr std::int64_t slices_of(const StatsConfig& c, const StatsGrid& g, const DeviceInfo& device,
                                 std::int64_t least_steps = 1) {
  const std::int64_t steps = ceil_div(g.items, g.step);
  if (steps == 0 || g.groups == 0) return 0;
  const std::int64_t resident = std::int64_t{device.sms} * c.blocks_per_sm;
  const std::int64_t wanted =
      std::clamp<std::int64_t>(tile::whole_waves(g.groups, resident), 1, ceil_div(steps, least_steps));
  return ceil_div(steps, ceil_div(steps, wanted));
}

// Elements of a lane's load.
constexpr std::int64_t elements_of_load(const StatsConfig& c, DType dtype) {
  return c.vectorized ? vector_elements(dtype) : 1;
}

// Shared memory for the mean and squares of each lane's elements, and their count.
constexpr int smem_of_lanes(const StatsConfig& c, DType dtype) {
  return c.threads * (2 * static_cast<int>(elements_of_load(c, dtype)) + 1) * 4;
}

// Bytes of the count, mean and sum of squares of a slice of a channel, and of the mean's base.
inline constexpr int partial_bytes = 16;

// The launch of this grid, but for registers and shared memory. The workspace has partial results, if there are several
// of a channel.
inline Footprint footprint_of(const StatsConfig& c, const StatsGrid& g, const BatchNormProblem& p) {
  return {.grid = g.blocks(),
          .threads = c.threads,
          .workspace = g.slices == 1 ? 0 : static_cast<std::size_t>(p.x.shape[1] * g.slices) * partial_bytes};
}

constexpr bool channels_innermost(const Layout& t) { return t.stride[1] == 1 && t.shape[1] > 1; }

// ---- refusals that families share; empty: none

inline std::string refuse_blocks(const StatsGrid& g) { return g.blocks() > max_grid ? "more than 2^31 blocks" : ""; }

// Of a grid, or of the last step's, which has a block per channel.
inline std::string refuse_grids(const StatsGrid& g, const BatchNormProblem& p) {
  if (std::string why = refuse_blocks(g); !why.empty()) return why;
  return p.x.shape[1] > max_grid ? "more than 2^31 channels" : "";
}

// ---- models

// The start of every family's model.
inline roofline::Kernel kernel_of(const StatsGrid& g, const Footprint& launch, const BatchNormProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.launches = g.slices == 1 ? 1 : 2;
  k.bytes_read = elements_of(p) * element_bytes(p);
  k.bytes_written = static_cast<double>(p.x.shape[1]) * 8;
  k.serial_us = g.slices == 1 ? 0 : 2;  // the second kernel's trip to memory
  return k;
}

// The same for kernels of one pass. at_once: elements by which a thread updates a channel's moments at once.
inline roofline::Kernel kernel_of_pass(const StatsConfig& c, const StatsGrid& g, const Footprint& launch,
                                       const BatchNormProblem& p, double at_once) {
  roofline::Kernel k = kernel_of(g, launch, p);
  k.trips = std::max(1.0, static_cast<double>(ceil_div(g.items, g.step * std::max<std::int64_t>(g.slices, 1))));
  k.trip_bytes = c.threads * c.loads * static_cast<double>(elements_of_load(c, p.dtype)) * element_bytes(p);
  k.block_us = 1;  // barriers
  k.clocks = elements_of(p) / 32 / 4 * (5 + 20 / at_once + (c.vectorized ? 0 : 8));
  return k;
}

// For lanes along an axis whose elements are not neighbours: each element takes a sector.
inline void read_by_sectors(roofline::Kernel& k, const BatchNormProblem& p) { k.memory_share = element_bytes(p) / 32; }

inline std::string_view lesson_of_pass(const StatsVariant& row) {
  return row.config.vectorized ? "coalescing" : "better maths";
}

}  // namespace ridge::batch_norm_detail
