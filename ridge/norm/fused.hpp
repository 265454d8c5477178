// dx, dgamma and dbeta in one pass over x and dy: blocks are persistent, rows pass through their shared memory, and
// lanes keep the sums of their columns. On Hopper a cluster shares a row that is too long for one block
// (sm90_fused.cuh).
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail {

// The layout of a block's shared memory: x and dy of `stages` times the rows that it works on, or a slice of each, and
// gamma; at the end, the sums of its rows' columns in their place.
struct FusedRows {
  static constexpr int most_stages = 4;       // more are not needed: a row is in flight while two are worked on
  static constexpr int scratch_bytes = 2560;  // the most besides: sums of warps, exchange buffers, barriers

  int alignment_offsets = 1;  // at which rows start, in turn
  int apart = 1;              // between rows of a share: the offsets; if there is one, the blocks or clusters
  int cluster = 1;            // blocks that share a row
  int slice_vectors = 0;      // the most whole vectors of a row in a block
  int row_vectors = 0;        // of a row's room: as many as lanes can have
  int stages = 0;             // 0: the row does not fit
  int smem = 0;               // bytes of dynamic shared memory
};

namespace fused {

// The most vectors of a row that is kept.
constexpr std::int64_t capacity(const Config& c) { return std::int64_t{lanes(c)} * c.in_registers * c.cluster; }

// limit: bytes of shared memory; grid: blocks of the kernel.
inline FusedRows shape_of(const Config& c, const NormProblem& p, int limit, std::int64_t grid = 1) {
  const int of_vector = vector_bytes / static_cast<int>(element_bytes(p));
  FusedRows r{.alignment_offsets = static_cast<int>(alignment_offsets(p)), .cluster = c.cluster};
  if (vectors(p) > capacity(c)) return r;
  r.apart = r.alignment_offsets > 1 ? r.alignment_offsets : static_cast<int>(grid / c.cluster);
  r.slice_vectors = static_cast<int>(ceil_div(vectors(p), c.cluster));
  r.row_vectors = lanes(c) * c.in_registers;
  const int gamma = r.row_vectors * of_vector * static_cast<int>(sizeof(float));
  for (r.stages = FusedRows::most_stages; r.stages >= 2; --r.stages) {
    // at the end, sums in place of two stages and gamma
    r.smem = r.stages * c.rows * 2 * r.row_vectors * vector_bytes + gamma;
    if (r.smem + FusedRows::scratch_bytes <= limit) return r;
  }
  r.stages = 0;
  return r;
}

// For rows in one pass, also by specialized warps.
inline std::string refuse_rows(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (std::string why = refuse_no_sums(p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (c.four_bytes && element_bytes(p) != 4) return "it is for elements of 4 bytes";
  if (std::string why = refuse_cluster(c, p, device); !why.empty()) return why;
  if (std::string why = refuse_longer(p, capacity(c)); !why.empty()) return why;
  return p.rows >= std::int64_t{1} << 31 ? "it counts rows in 31 bits" : "";
}

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_rows(row.config, p, device); !why.empty()) return why;
  if (shape_of(row.config, p, device.smem_optin).stages > 0) return {};
  return "two rows for each that is worked on do not fit in " + std::to_string(device.smem_optin) +
         " bytes of shared memory";
}

// As many blocks, or clusters, as are resident.
inline std::int64_t grid_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  if (is_alone(c, p)) return c.cluster;
  return std::min<std::int64_t>(blocks_of(c, p), roofline::resident_clusters(device, c.cluster)) * c.cluster;
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums({.grid = grid_of(c, p, device),
                    .threads = c.threads,
                    .registers = 128,
                    .smem = shape_of(c, p, device.smem_optin).smem},
                   c, p, device);
}

// The time until all blocks of a cluster of more than 4 have their memory; measured with 1 to 8 rows.
inline double start_us(const Config& c) { return c.cluster > 4 ? 14 : 0; }

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Footprint launch = footprint(row, p, device);
  roofline::Kernel k = kernel_of(launch, p);
  // A block's rows follow one another; each is loaded while two are worked on. An iteration: the reductions of a row,
  // the passes over each vector that a lane can have, and a cluster's exchange. Fitted to an H200.
  const double iterations = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(k.blocks * c.rows));
  constexpr double fitted_threads = 448;  // of clusters' blocks when this was fitted
  const double of_lanes = c.cluster > 1 ? c.in_registers * c.threads / fitted_threads : c.in_registers;
  const double iteration_us =
      0.7 + 0.01 * lanes(c) / device.warp + (c.cluster > 1 ? 0.3 : 0) + (element_bytes(p) == 2 ? 0.4 : 0.25) * of_lanes;
  k.trips = 1 + 0.25 * iterations;
  k.trip_bytes = static_cast<double>(launch.smem);
  k.block_us = iteration_us * iterations;
  k.serial_us += start_us(c);
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c));
  add_code(k, c.cluster == 1 ? 3 : c.cluster == 2 ? 3.5 : 4.5);
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace fused
}  // namespace ridge::norm_detail
