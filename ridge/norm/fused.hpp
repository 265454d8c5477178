// dx, dgamma and dbeta in one pass over x and dy: blocks stay, rows pass through their shared memory, and lanes keep
// the sums of their columns. On Hopper a row that is too long for one block is shared by a cluster (sm90_fused.cuh).
#pragma once
#include <ridge/norm/sums.hpp>

namespace ridge::norm_detail {

// What a block has in its shared memory: x and dy of `stages` times as many rows as it works on, a slice of each, and
// gamma; in the end, the sums of its rows' columns in the same place.
struct FusedRows {
  static constexpr int most_stages = 4;       // more are not needed: a row is on its way while two are worked on
  static constexpr int scratch_bytes = 2560;  // beside it, at most: sums of warps, messages, barriers

  int phases = 1;   // every so many-th row starts at the same place of a vector
  int apart = 1;    // rows of a block's, or cluster's, share: the phases, or, of one phase, those that share rows out
  int cluster = 1;  // blocks that share a row
  int slice_vectors = 0;  // whole ones of a row that a block has at most
  int row_vectors = 0;    // of its room: as many as lanes can have
  int stages = 0;         // 0: the row does not fit
  int smem = 0;           // bytes of dynamic shared memory
};

namespace fused {

// Vectors of the longest row that is kept.
constexpr std::int64_t capacity(const Config& c) { return std::int64_t{lanes(c)} * c.in_registers * c.cluster; }

// limit: bytes of shared memory; grid: blocks of the kernel.
inline FusedRows shape_of(const Config& c, const NormProblem& p, int limit, std::int64_t grid = 1) {
  const int of_vector = vector_bytes / static_cast<int>(element_bytes(p));
  FusedRows r{.phases = static_cast<int>(phases_of(p)), .cluster = c.cluster};
  if (vectors(p) > capacity(c)) return r;
  r.apart = r.phases > 1 ? r.phases : static_cast<int>(grid / c.cluster);
  r.slice_vectors = static_cast<int>(ceil_div(vectors(p), c.cluster));
  r.row_vectors = lanes(c) * c.in_registers;
  const int gamma = r.row_vectors * of_vector * static_cast<int>(sizeof(float));
  for (r.stages = FusedRows::most_stages; r.stages >= 2; --r.stages) {
    // in the end, sums where two stages and gamma were
    r.smem = r.stages * c.rows * 2 * r.row_vectors * vector_bytes + gamma;
    if (r.smem + FusedRows::scratch_bytes <= limit) return r;
  }
  r.stages = 0;
  return r;
}

// Of all rows of one pass, also those of specialized warps.
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

// As many blocks, or clusters, as there is room for.
inline std::int64_t grid_of(const Config& c, const NormProblem& p, const DeviceInfo& device) {
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

// Until all blocks of a cluster of more than 4 have their memory: of 1 to 8 rows, measured.
inline double start_us(const Config& c) { return c.cluster > 4 ? 14 : 0; }

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Footprint launch = footprint(row, p, device);
  roofline::Kernel k = kernel_of(launch, p);
  // A block's rows follow one another, each brought while two are worked on: the reductions of one, and the passes over
  // each vector that a lane can have; a cluster's with a message. Fitted to an H200.
  const double in_turn = std::ceil(static_cast<double>(p.rows) * c.cluster / static_cast<double>(k.blocks * c.rows));
  constexpr double fitted_threads = 448;  // clusters had blocks of as many when this was fitted
  const double of_lanes = c.cluster > 1 ? c.in_registers * c.threads / fitted_threads : c.in_registers;
  const double turn_us =
      0.7 + 0.01 * lanes(c) / device.warp + (c.cluster > 1 ? 0.3 : 0) + (element_bytes(p) == 2 ? 0.4 : 0.25) * of_lanes;
  k.trips = 1 + 0.25 * in_turn;
  k.trip_bytes = static_cast<double>(launch.smem);
  k.block_us = turn_us * in_turn;
  k.serial_us += start_us(c);
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c));
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace fused
}  // namespace ridge::norm_detail
