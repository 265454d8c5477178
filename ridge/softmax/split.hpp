// Multi-block rows: few long rows, each split over many blocks. A first kernel writes the partial results of every
// slice; in a second one, each block merges those of its row and writes its slice.
#pragma once
#include <ridge/softmax/rows.hpp>
#include <ridge/softmax/vector.hpp>
#include <ridge/tile/row_slices.hpp>

namespace ridge::softmax_detail::split {

using tile::Slices;

// Slices of at least one vector for each thread, and at most two blocks for each multiprocessor.
inline Slices slices_of(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t blocks_per_sm = 2, least_sms = 8;  // a CPU with few cores counts as a small device
  const std::int64_t least = std::int64_t{c.threads} * vector_bytes / element_bytes(p);
  return tile::slices_of(p.rows, p.cols, least, std::max<std::int64_t>(device.sms, least_sms) * blocks_per_sm);
}

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (p.backward)  // forward, rows that are not co-aligned are written element by element
    if (std::string why = refuse_apart(p); !why.empty()) return why;
  if (slices_of(row.config, p, device).of_row < 2)
    return "rows are too short to be split, or as many as hold all blocks";
  return {};
}

// The workspace has the first kernel's maximum and sum of each slice; for gradients, its sum.
inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t blocks = is_empty(p) ? 0 : p.rows * slices_of(c, p, device).of_row;
  const std::size_t of_sum = p.dtype == f64 ? sizeof(double) : sizeof(float);
  return {.grid = blocks,
          .threads = c.threads,
          .registers = 40,
          .workspace = static_cast<std::size_t>(blocks) * (p.backward ? 1 : 2) * of_sum};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  read_again(k, 1, k.cost.bytes_read / device.sms * device.sms,
             device);  // by the second kernel: all rows are in flight
  const double of_vector = vector_bytes / static_cast<double>(element_bytes(p));
  k.trips =
      2 * std::ceil(static_cast<double>(slices_of(c, p, device).cols) / (of_vector * c.threads * vector::in_flight)) +
      1;
  k.trip_bytes = static_cast<double>(vector::in_flight * vector_bytes) * c.threads;
  if (element_bytes(p) == 2) k.block_us *= 1.35;  // twice the elements in a vector
  k.launches = 2;
  k.serial_us = 0.5;  // the second kernel waits for the last block of the first; its start is hidden
  add_code(k, 1);     // of both
  if (!p.backward) vector::write_apart(k, p);
  return k;
}

inline std::string_view lesson(const Variant&) { return "occupancy"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::split
