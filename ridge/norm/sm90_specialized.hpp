// Hopper: the fused gradients of rows of 16-bit elements by specialized warps. A producer warp loads rows, some warps
// sum them, others finish them.
#pragma once
#include <ridge/norm/fused.hpp>

namespace ridge::norm_detail {

// The layout of a block's shared memory: slots of x and dy, gamma, and exchange slots of the cluster's blocks.
struct SpecializedRows {
  static constexpr int most_stages = 8, most_cluster = 16;
  static constexpr int prefetch_distance = 1;  // rows between the one loaded to a slot and the one prefetched
  static constexpr int scratch_bytes = 768, exchange_slot_bytes = 40;  // the most besides: sums of warps, barriers

  int alignment_offsets = 1, apart = 1, cluster = 1, slice_vectors = 0;  // as in FusedRows
  int row_vectors = 0;  // of a slot's room: the last vectors that a warp finishes may be beyond the row
  int stages = 0;       // 0: the row does not fit
  int smem = 0;         // bytes of dynamic shared memory
};

namespace specialized {

// Threads of a block: those that finish rows, those that sum them, and two warps that work on no elements.
constexpr int threads_of(Config c) { return c.threads + c.summing + 64; }

// limit: bytes of shared memory; grid: blocks of the kernel.
inline SpecializedRows shape_of(const Config& c, const NormProblem& p, int limit, std::int64_t grid = 1) {
  constexpr int warp = 32;
  const int of_vector = vector_bytes / static_cast<int>(element_bytes(p));
  SpecializedRows r{.alignment_offsets = static_cast<int>(alignment_offsets(p)), .cluster = c.cluster};
  if (vectors(p) > fused::capacity(c)) return r;
  r.apart = r.alignment_offsets > 1 ? r.alignment_offsets : static_cast<int>(grid / c.cluster);
  r.slice_vectors = static_cast<int>(ceil_div(vectors(p), c.cluster));
  const int groups = (r.slice_vectors + warp - 1) / warp, of_each = groups / (c.threads / warp);
  r.row_vectors = std::max(groups, groups - of_each + c.in_registers - 1) * warp;
  const int gamma = of_vector * static_cast<int>(sizeof(float));  // of a vector
  for (r.stages = SpecializedRows::most_stages; r.stages >= 3; --r.stages) {
    r.smem = (r.stages * 2 * vector_bytes + gamma) * r.row_vectors +
             2 * r.stages * c.cluster * SpecializedRows::exchange_slot_bytes;
    if (r.smem + SpecializedRows::scratch_bytes <= limit) return r;
  }
  r.stages = 0;
  return r;
}

// The least whole vectors of a row, one that starts just after a boundary; and those left for a cluster's last block.
inline std::int64_t least_vectors(const NormProblem& p) {
  const std::int64_t of_vector = vector_bytes / element_bytes(p);
  if (alignment_offsets(p) == 1 && (*p.row_layouts)[0].alignment_offset == 0) return vectors(p);
  return std::max<std::int64_t>(p.cols - of_vector + 1, 0) / of_vector;
}
inline std::int64_t last_slice(const Config& c, const NormProblem& p) {
  return least_vectors(p) - (c.cluster - 1) * ceil_div(vectors(p), c.cluster);
}

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = fused::refuse_rows(c, p, device); !why.empty()) return why;
  if (element_bytes(p) != 2) return "it is for elements of 2 bytes";
  if (p.added) return "it has no dsum";
  if (const std::int64_t least = c.summing * c.cluster; least_vectors(p) < least || last_slice(c, p) < c.summing)
    return "a row has " + std::to_string(least_vectors(p)) + " vectors of 16 bytes for " + std::to_string(least) +
           " threads that sum it up";
  if (shape_of(c, p, device.smem_optin).stages == 0)
    return "three rows do not fit in " + std::to_string(device.smem_optin) + " bytes of shared memory";
  return {};
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums({.grid = fused::grid_of(c, p, device),
                    .threads = threads_of(c),
                    .registers = 128,
                    .smem = shape_of(c, p, device.smem_optin).smem},
                   c, p, device);
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // As `fused`, but a row's sums follow those of the row before. Fitted to an H200.
  const double iterations = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(k.blocks));
  const SpecializedRows shape = shape_of(c, p, device.smem_optin);
  k.trips = 1 + 0.25 * iterations;
  k.trip_bytes = static_cast<double>(shape.smem);
  k.block_us = (0.35 + 0.16 * static_cast<double>(shape.slice_vectors) / c.threads) * iterations;
  k.serial_us += fused::start_us(c);
  add_code(k, 4);
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace specialized
}  // namespace ridge::norm_detail
