// Rows too long to keep on chip, read twice by 16-byte vectors.
#pragma once
#include <ridge/norm/rows.hpp>

namespace ridge::norm_detail::vector {

inline constexpr int in_flight = 4;  // a thread's vectors of each tensor

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_two_float(row.config, p); !why.empty()) return why;
  if (p.backward) return "it has no gradient";
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  return refuse_layouts(p);
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  return {.grid = blocks_of(row.config, p), .threads = row.config.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.memory_share = 0.75;  // measured at 1024x131072
  read_again(k, 1, c, p, device);
  k.trips = 2 * std::ceil(static_cast<double>(vectors(p)) / (static_cast<double>(in_flight) * c.threads));
  k.trip_bytes = std::min(row_bytes(p) * static_cast<double>(rows_per_block(c)),
                          static_cast<double>(in_flight * vector_bytes) * c.threads);
  // Two passes over the vectors, and merging their moments; softmax's variant of this kind has 2.2.
  k.block_us = 2.2 + 0.3 * static_cast<double>(vectors(p)) / c.threads;
  add_code(k, 0.9);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::vector
