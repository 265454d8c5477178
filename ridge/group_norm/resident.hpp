// A block per group, or per some groups, which reads them once and keeps them on chip: the first vectors of each thread
// in registers, the others in shared memory.
#pragma once
#include <ridge/group_norm/access.hpp>

namespace ridge::group_norm_detail::resident {

inline std::string fits(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (p.backward) return "it is for the forward pass";
  if (is_empty(p)) return "there is nothing to write";
  if (std::string why = refuse_access(c, p); !why.empty()) return why;
  const Division d = division_of(c, p, device);
  if (std::string why = refuse_blocks(d); !why.empty()) return why;
  // Sums over a span's block have shared memory of their own (tile/block_reduce.cuh): a float for each of 32 warps.
  constexpr std::int64_t of_block_reduce = 32 * 4;
  return roofline::refuse_smem(smem_of_resident(c, d) + (c.access == Access::span ? of_block_reduce : 0), device);
}

inline Footprint footprint(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Division d = division_of(c, p, device);
  return {.grid = d.blocks(), .threads = d.threads, .registers = 64, .smem = static_cast<int>(smem_of_resident(c, d))};
}

inline roofline::Kernel model(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Division d = division_of(c, p, device);
  roofline::Kernel k = roofline::kernel_of(footprint(row, p, device), cost(p));
  const double batches = static_cast<double>(ceil_div(d.in_shared, c.loads));
  k.trips = 2 + batches;  // registers, the batches that go to shared memory, gamma and beta
  k.trip_bytes = static_cast<double>(d.threads * std::max(c.in_registers, c.loads) * vector_bytes);
  k.block_us = c.access == Access::pixels ? 2 : 1;  // two sums over the block
  k.clocks = clocks_of(p, 16 + activation_instructions(p));
  k.memory_share = share_of_sectors(c, p, d);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::group_norm_detail::resident
