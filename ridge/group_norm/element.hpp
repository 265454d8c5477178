// A block per group, which goes through it once for each pass, an element at a time; any strides. Where gradients of
// gamma and beta are wanted, the kernels of sums.cuh follow.
#pragma once
#include <ridge/group_norm/sums.hpp>

namespace ridge::group_norm_detail::element {

inline std::string fits(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_blocks(division_of(row.config, p, device)); !why.empty()) return why;
  return refuse_sums(p);
}

// Whole planes of dgamma and dbeta, by the statistics that the block of their group leaves.
inline SumsPlan sums_of(const GroupNormProblem& p) {
  return wants_sums(p) && !is_empty(p) ? sums_plan(p, groups_of_all(p), 1) : SumsPlan{};
}

inline Footprint footprint(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return {
      .grid = division_of(c, p, device).blocks(), .threads = c.threads, .registers = 64, .workspace = sums_of(p).bytes};
}

inline roofline::Kernel model(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Division d = division_of(c, p, device);
  roofline::Kernel k = roofline::kernel_of(footprint(row, p, device), cost(p));
  // Forward: mean, squares, y. Backward: mean, squares, the sums of g and g n, dx; the last two read dy too.
  const double passes = p.backward ? 4 : 3, of_tensor = elements(p) * element_bytes(p);
  k.bytes_read = of_tensor * (p.backward ? 6 : 3);
  k.trips = passes * std::max(1.0, static_cast<double>(d.part_items) / c.threads / c.loads);
  k.trip_bytes = c.threads * c.loads * element_bytes(p);
  k.block_us = passes;                                                // barriers
  k.clocks = clocks_of(p, passes * 50 + activation_instructions(p));  // divisions for each element's place
  k.memory_share = share_of_sectors(c, p, d);
  if (!wants_sums(p)) return k;
  k.launches += 1;
  k.bytes_read += 2 * of_tensor;
  add_finish(k, sums_of(p), device);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::group_norm_detail::element
