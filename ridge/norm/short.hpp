// Short vector-aligned rows: a lane has a few vectors of each of several rows at a time. Gradients are variants of
// their own: their blocks are persistent and keep the sums of dgamma and dbeta.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::short_rows {

// The most vectors of a row.
constexpr std::int64_t capacity(const Config& c) { return std::int64_t{lanes(c)} * c.in_registers; }
// For a dependent launch: a block on each multiprocessor, beside those of the kernel before.
constexpr std::int64_t most_rows(const Config& c, const DeviceInfo& device) { return rows_per_block(c) * device.sms; }

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (p.backward != (c.algorithm == Algorithm::short_sums))
    return p.backward ? "it has no gradient" : "it is for gradients";
  if (c.dependent_launch && p.rows > most_rows(c, device)) return "it is for no more rows than are resident at a time";
  if (std::string why = refuse_partial_vectors(p); !why.empty()) return why;
  return refuse_longer(p, capacity(c));
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const int kept = c.in_registers * c.rows_per_lane;  // vectors, of four registers each
  Footprint launch{.grid = blocks_of(c, p), .threads = c.threads, .registers = kept <= 4 ? 40 : 64};
  if (!p.backward) return launch;
  launch.grid = is_alone(c, p) ? 1 : std::min<std::int64_t>(launch.grid, device.sms * c.blocks_per_sm);
  launch.registers = roofline::registers_for(c.threads, c.blocks_per_sm);
  return with_sums(launch, c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const double bytes = static_cast<double>(element_bytes(p));
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  if (p.backward) {
    // A block's rows follow one another: loads, reductions and passes, beside another block. Fitted to an H200.
    const double iterations = std::ceil(static_cast<double>(p.rows) / static_cast<double>(k.blocks * c.rows));
    k.trips = iterations;
    k.trip_bytes = row_bytes(p) * c.rows * tensors_kept(p);
    // Where the mean is not needed there are fewer sums. Three vectors with all sums spill registers.
    const double sums = is_scaled(p) ? 1 : c.in_registers >= 3 && bytes == 2 ? 4 : 1.4;
    k.block_us = (bytes == 2 ? 1.5 : 1.0) * sums * iterations;
    // Instructions beside the next row's load, of half as many rows at a time, and without spills. Estimated.
    if (c.ahead && iterations > 1) k.block_us *= 0.3 * c.in_registers;
  } else {
    k.trip_bytes = row_bytes(p) * static_cast<double>(rows_per_block(c));
    const double idle = 1 - static_cast<double>(vectors(p)) / static_cast<double>(capacity(c));
    k.block_us = 0.35 + 0.15 * c.in_registers * c.rows_per_lane + 0.3 * idle;
    // Lanes without a vector execute what those with one do, but load and store nothing: they take half as long.
    const double worked_on = static_cast<double>(p.rows * (capacity(c) + vectors(p))) / 2 * vector_bytes / bytes;
    k.clocks = clocks_of(p, bytes == 2 ? 1 : 0, worked_on);
    if (c.dependent_launch && device.cc == 90) k.serial_us -= 1;  // its start overlaps the end of the kernel before it
  }
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  if (keeps_sums(row.config)) return "privatisation";
  return {};
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::short_rows
