// Hopper, gradients: blocks are persistent, and rows pass through a ring in their shared memory, which the copy engine
// fills; a cluster shares a row that is too long for one block.
#pragma once
#include <ridge/softmax/rows.hpp>
#include <ridge/tile/row_ring.hpp>

#include <numeric>

namespace ridge::softmax_detail::ring {

// The ring of a block. A row that leaves no room for the next one is loaded when the one before is done.
inline tile::RowRing ring_of(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  const std::int64_t pitch = p.rows <= 1 ? 0 : p.x->pitch() * element_bytes(p);
  const int offsets = vector_bytes / static_cast<int>(std::gcd<std::int64_t>(vector_bytes, pitch));
  return tile::row_ring(c.threads, c.team, c.cluster,
                        {.cols = p.cols,
                         .element_bytes = static_cast<int>(element_bytes(p)),
                         .aligned = p.x->alignment_offset == 0 && offsets == 1,
                         .tensors = 2,  // y and dy
                         .offsets = offsets,
                         .least_stages = 1},
                        device.smem_optin);
}

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (std::string why = refuse_apart(p); !why.empty()) return why;
  if (!p.backward) return "it is for gradients";
  if (device.cc != 90) return "the copy engine and clusters are of compute capability 9.0";
  if (ring_of(row.config, p, device).stages == 0)
    return "a row of y and of dy, or a cluster's slice of them, do not fit in " + std::to_string(device.smem_optin) +
           " bytes of shared memory";
  return {};
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const tile::RowRing ring = ring_of(c, p, device);
  const std::int64_t room = roofline::resident_clusters(device, c.cluster);
  const std::int64_t per_offset = std::max<std::int64_t>(std::min(ring.clusters_of(p.rows), room) / ring.offsets, 1);
  return {.grid = is_empty(p) ? 0 : per_offset * ring.offsets * c.cluster,
          .threads = c.threads,
          .registers = 96,
          .smem = ring.smem_bytes()};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  // A team's rows follow one another. A row's time: a reduction, with an exchange in a cluster, and the passes over
  // each vector; fitted to an H200 (bench/results/h200/rows_ring.json).
  const tile::RowRing ring = ring_of(c, p, device);
  const double of_lane = std::ceil(static_cast<double>(ring.slice_vectors) / c.team);
  const double vector_us = element_bytes(p) == 2 ? 0.32 : 0.2;
  const double row_us = (c.cluster > 1 ? 0.96 : 0.72) + vector_us * of_lane;
  const double teams = static_cast<double>(k.blocks) / c.cluster * ring.teams;
  k.trip_bytes = static_cast<double>(ring.teams) * ring.stages * ring.slot();
  k.trips = std::ceil(static_cast<double>(p.rows) / teams);  // one row while another is loaded
  k.block_us = (row_us - device.memory_latency_us) * k.trips;
  if (ring.stages == 1)  // no work hides its memory latency
    k.block_us += k.trips * (device.memory_latency_us + ring.slot() * device.sms / (device.memory_gbs * 1e3));
  k.serial_us = tile::RowRing::start_us(c.cluster);
  add_code(k, 1.6);
  if (p.rows < ring.offsets) k.serial_us += 90;  // clusters without a row: measured with 2 rows of 20,001
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::ring
