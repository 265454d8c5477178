// Short vector-aligned rows (whole 16-byte vectors): a lane has a few vectors of each of a few rows at a time.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::short_rows {

inline int rows_per_lane(const Variant& row, const SoftmaxProblem& p) {
  return softmax_detail::rows_per_lane(row.config, p.backward, element_bytes(p));
}
inline std::int64_t rows_of_block(const Variant& row, const SoftmaxProblem& p) {
  return rows_per_block(row.config, rows_per_lane(row, p));
}
// The most vectors of a row.
constexpr int capacity(const Config& c) { return lanes(c) * c.in_registers; }

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (std::string why = refuse_apart(p); !why.empty()) return why;
  const auto off = [&](std::int64_t elements) { return elements * element_bytes(p) % vector_bytes != 0; };
  // The other tensors are co-aligned with x.
  if (off(p.cols) || p.x->alignment_offset != 0 || (p.rows > 1 && off(p.x->pitch())))
    return "rows are not of whole 16-byte vectors, from a boundary on";
  return refuse_longer(vectors(p), capacity(row.config));
}

// Elements of each tensor that a lane has.
inline int elements_of_lane(const Variant& row, const SoftmaxProblem& p) {
  return rows_per_lane(row, p) * row.config.in_registers * static_cast<int>(vector_bytes / element_bytes(p));
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  // What nvcc takes for sm_90a: a register for each element, of both tensors in gradients, and those of each row's
  // maximum and addresses; in steps of eight.
  const int elements = elements_of_lane(row, p) * (p.backward ? 2 : 1);
  const int registers = elements + 16 + (p.backward ? 0 : 4 * rows_per_lane(row, p));
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows_of_block(row, p)),
          .threads = c.threads,
          .registers = static_cast<int>(ceil_div(registers, 8) * 8)};
}

// Instructions of a thread, counted in what nvcc makes of the kernels for sm_90a. Lanes without a vector execute them
// too.
inline double instructions(const Variant& row, const SoftmaxProblem& p) {
  const double rows = rows_per_lane(row, p), elements = elements_of_lane(row, p);
  if (p.backward) return 50 + 10 * rows + (p.log ? 10 : 6) * elements;
  return 35 + 30 * rows + 7.3 * elements + (p.log ? 45 : 0);
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  k.trip_bytes = row_bytes(p) * static_cast<double>(rows_of_block(row, p)) * (p.backward ? 2 : 1);
  k.tile_efficiency = static_cast<double>(vectors(p)) / capacity(c);
  constexpr double at_a_time = 128;  // threads: a multiprocessor issues for four warps
  k.clocks = static_cast<double>(k.blocks) * c.threads / at_a_time * instructions(row, p);
  // The table's time is of float32, forward. For others, until they are measured, as of resident rows: more for twice
  // the elements, less for gradients, which have no maximum and no exponentials.
  if (c.rows_per_lane == 1 && element_bytes(p) == 2) k.block_us *= 1.35;
  if (p.backward) k.block_us *= 0.4;
  return k;
}

inline std::string_view lesson(const Variant& row) {
  return row.config.rows_per_lane * row.config.in_registers > 1 ? "coarsening" : "tiling";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::short_rows
