// Vector-aligned rows (whole 16-byte vectors), read once and kept in registers, with few registers and instructions.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::even {

// Vectors of x, and of dy, in a lane's registers: as many words as forward, if these are many.
constexpr int vectors_of_gradient(const Config& c) { return c.in_registers > 2 ? c.in_registers / 2 : c.in_registers; }
// Blocks of a gradient on a multiprocessor, which takes more registers. Where one block has all, it would spill them.
constexpr int gradient_blocks_per_sm(const Config& c) {
  return c.in_registers > 2 ? c.blocks_per_sm * 3 / 4 : c.blocks_per_sm;
}
constexpr bool has_gradient(const Config& c) { return gradient_blocks_per_sm(c) > 0; }
// The most vectors of a row that is kept.
constexpr std::int64_t capacity(const Config& c, bool backward) {
  return std::int64_t{lanes(c)} * (backward ? vectors_of_gradient(c) : c.in_registers);
}
// For a dependent launch, whose blocks prefetch their rows: more would only prefetch what they load at once.
inline constexpr std::int64_t most_rows = 2048;

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (std::string why = refuse_partial_vectors(p); !why.empty()) return why;
  if (p.backward && !has_gradient(c)) return "it has no gradient";
  if (c.dependent_launch && p.rows > most_rows) return "it is for at most " + std::to_string(most_rows) + " rows";
  return refuse_longer(p, capacity(c, p.backward));
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Footprint launch{
      .grid = blocks_of(c, p), .threads = c.threads, .registers = p.backward && c.in_registers > 2 ? 80 : 64};
  if (has_columns_beside(c, p) && !is_empty(p)) launch.grid += ceil_div(p.cols, column_group(element_bytes(p)));
  return with_sums(launch, c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // A row's time: its reduction, and two passes over each vector; fitted to an H200.
  const double of_lane = std::max(std::ceil(static_cast<double>(vectors(p)) / lanes(c)), 1.0);
  const double vector_us = (element_bytes(p) == 4 ? 0.1 : 0.27) * (p.backward ? 2 : 1);
  k.block_us = 0.6 + 0.01 * c.threads / 32 + vector_us * of_lane;
  k.trip_bytes = row_bytes(p) * tensors_kept(p);
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c, p.backward));
  add_code(k, c.in_registers > 2 ? 1 : 0.9);
  if (c.dependent_launch) {
    k.block_us += 0.8 * (1 - k.tile_efficiency);  // lanes without a vector, of which the others have two
    if (device.cc == 90) k.serial_us -= 0.5;      // its start overlaps the end of the kernel before it
  }
  // A lane loads more than four vectors of residual after the first four, which several small blocks do not hide.
  // Measured.
  if (p.added && !p.backward && of_lane > 4 && c.threads <= 256) k.memory_share = 0.97;
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::even
