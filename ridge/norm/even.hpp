// Vector-aligned rows (whole 16-byte vectors), read once and kept in registers, with few registers and instructions.
#pragma once
#include <ridge/norm/rows.hpp>

namespace ridge::norm_detail::even {

// The most vectors of a row that is kept.
constexpr std::int64_t capacity(const Config& c) { return std::int64_t{lanes(c)} * c.in_registers; }

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_two_float(row.config, p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (p.backward) return "it has no gradient";
  if (std::string why = refuse_partial_vectors(p); !why.empty()) return why;
  return refuse_longer(p, capacity(row.config));
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  return {.grid = blocks_of(row.config, p), .threads = row.config.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // A row's time: its reduction, and two passes over each vector; fitted to an H200.
  const double of_lane = std::max(std::ceil(static_cast<double>(vectors(p)) / lanes(c)), 1.0);
  k.block_us = 0.6 + 0.01 * c.threads / 32 + (element_bytes(p) == 4 ? 0.1 : 0.27) * of_lane;
  k.trip_bytes = row_bytes(p);
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c));
  add_code(k, 1);
  // A lane loads more than four vectors of residual after the first four, which several small blocks do not hide.
  // Measured.
  if (p.added && of_lane > 4 && c.threads <= 256) k.memory_share = 0.97;
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::even
