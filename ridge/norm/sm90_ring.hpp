// Hopper: blocks are persistent, and rows pass through a ring in their shared memory, which the copy engine fills; a
// cluster shares a row that is too long for one block. Threads keep gamma and beta of their columns in registers.
#pragma once
#include <ridge/norm/rows.hpp>
#include <ridge/tile/row_ring.hpp>

namespace ridge::norm_detail::ring {

// The ring of a block. limit: bytes of shared memory.
inline tile::RowRing ring_of(const Config& c, const NormProblem& p, int limit) {
  const int offsets = static_cast<int>(alignment_offsets(p));
  return tile::row_ring(c.threads, c.team, c.cluster,
                        {.cols = p.cols,
                         .element_bytes = static_cast<int>(element_bytes(p)),
                         .aligned = (*p.row_layouts)[0].alignment_offset == 0 && offsets == 1,
                         .tensors = 1 + p.added,
                         .offsets = offsets,
                         .least_stages = 3},  // a row to finish, one to sum, one in flight
                        limit);
}
// The most vectors of a row's slice that lanes can have.
constexpr int capacity(const Config& c) { return c.team * c.in_registers; }

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (c.plain && use_of(p) != Use::plain) return "it has rows alone: no sum, no gradient";
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (std::string why = refuse_wide_cluster(c, device); !why.empty()) return why;
  if (device.cc != 90) return "the copy engine and clusters are of compute capability 9.0";
  if (p.backward) return "it has no gradient";
  const tile::RowRing ring = ring_of(c, p, device.smem_optin);
  if (ring.slice_vectors <= capacity(c) && ring.stages > 0) return {};
  return "a row's slice has " + std::to_string(ring.slice_vectors) + " vectors of 16 bytes; " +
         std::to_string(capacity(c)) + " are kept, and rows must fit in " + std::to_string(device.smem_optin) +
         " bytes of shared memory";
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const tile::RowRing ring = ring_of(c, p, device.smem_optin);
  const std::int64_t room = roofline::resident_clusters(device, c.cluster);
  const std::int64_t per_offset = std::max<std::int64_t>(std::min(ring.clusters_of(p.rows), room) / ring.offsets, 1);
  return {.grid = is_empty(p) ? 0 : per_offset * ring.offsets * c.cluster,
          .threads = c.threads,
          .registers = c.threads > 384 ? 128 : 168,
          .smem = ring.smem_bytes()};
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  // A team's rows follow one another. A row's time: its reduction, and the passes over each vector; fitted to an H200.
  const tile::RowRing ring = ring_of(c, p, device.smem_optin);
  const double of_lane = std::ceil(static_cast<double>(ring.slice_vectors) / c.team);
  const double of_16_bits = c.team > 384 ? 0.22 : 0.19;
  const double vector_us = (element_bytes(p) == 2 ? of_16_bits : 0.1) * (!p.added                   ? 1
                                                                         : alignment_offsets(p) > 1 ? 1.6
                                                                                                    : 1.05);
  const double row_us = 0.24 + 0.05 * c.cluster + vector_us * of_lane;
  const double teams = static_cast<double>(k.blocks) / c.cluster * ring.teams;
  k.trip_bytes = static_cast<double>(ring.teams) * ring.stages * ring.slot();
  k.trips = std::ceil(static_cast<double>(p.rows) / teams);  // one row while another is loaded
  k.block_us = (row_us - device.memory_latency_us) * k.trips;
  k.serial_us = tile::RowRing::start_us(c.cluster) + 1.5;  // then gamma and beta
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::ring
