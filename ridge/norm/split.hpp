// Multi-block rows: few long rows, each split over many blocks. A first kernel writes the moments of every slice; in a
// second one, each block merges the moments of its row and writes its slice.
#pragma once
#include <ridge/norm/sums.hpp>
#include <ridge/norm/vector.hpp>
#include <ridge/tile/row_slices.hpp>

namespace ridge::norm_detail::split {

using tile::Slices;

inline constexpr int partial_floats = 10;  // the most that the first kernel writes for a slice

// Slices of at least one vector for each thread, and at most four blocks for each multiprocessor; two for gradients,
// which have more to merge for each block.
inline Slices slices_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const std::int64_t blocks_per_sm = p.backward ? 2 : 4;
  const std::int64_t least = std::int64_t{c.threads} * vector_bytes / element_bytes(p);
  return tile::slices_of(p.rows, p.cols, least, device.sms * blocks_per_sm);
}

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_two_float(row.config, p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (slices_of(row.config, p, device).of_row < 2)
    return "rows are too short to be split, or as many as hold all blocks";
  return {};
}

// Offset of the first kernel's results in the workspace: after the sums of gradients.
inline std::size_t partials_at(const SumsPlan& sums) {
  constexpr std::size_t line = 256;
  return (sums.bytes + line - 1) / line * line;
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Footprint launch{.threads = c.threads, .registers = 64};
  if (is_empty(p)) return launch;
  launch.grid = p.rows * slices_of(c, p, device).of_row;
  launch.workspace = partials_at(sums_plan(c, p, device, launch.grid)) +
                     static_cast<std::size_t>(launch.grid) * partial_floats * sizeof(float);
  return launch;
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  const double of_vector = vector_bytes / static_cast<double>(element_bytes(p));
  const int at_once = p.backward ? 2 : vector::in_flight;
  k.trips = 2 * std::ceil(static_cast<double>(slices_of(c, p, device).cols) / (of_vector * c.threads * at_once)) + 1;
  // The row is read again, mostly from the L2 cache, after a wait for the moments of all its blocks; the more blocks
  // there are, the longer that takes. Fitted to an H200.
  k.launches = 2;
  k.memory_share = p.backward ? 0.5 : 0.8;
  k.serial_us = 1.2 + (p.backward ? 0.02 : 0.015) * static_cast<double>(k.blocks);
  k.trip_bytes = static_cast<double>(vector::in_flight * vector_bytes) * c.threads;
  k.block_us = 1.5;
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "occupancy"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::split
