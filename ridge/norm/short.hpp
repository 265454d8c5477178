// Short vector-aligned rows: a lane has one vector of each of several rows at a time. Gradients are variants of their
// own: their blocks are persistent and keep the sums of dgamma and dbeta.
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail::short_rows {

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  const bool keeps = keeps_sums(c);
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (std::string why = keeps ? refuse_no_sums(p) : ""; !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (p.backward && !keeps) return "it has no gradient";
  if (std::string why = refuse_partial_vectors(p); !why.empty()) return why;
  return refuse_longer(p, lanes(c));
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Footprint launch{.grid = blocks_of(c, p), .threads = c.threads, .registers = 40};
  if (!p.backward) return launch;
  launch.grid = std::min<std::int64_t>(launch.grid, device.sms * c.blocks_per_sm);
  launch.registers = 64;
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
    k.block_us = (bytes == 2 ? 2.2 : 1.3) * iterations;
  } else {
    k.trip_bytes = row_bytes(p) * static_cast<double>(rows_per_block(c));
    k.block_us = 0.5 * lanes(c) / static_cast<double>(vectors(p));
    // Lanes without a vector of a short row take as long as those that have one.
    const double worked_on = static_cast<double>(p.rows) * lanes(c) * vector_bytes / bytes;
    k.clocks = clocks_of(p, bytes == 2 ? 1 : 0, worked_on);
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
