// Rows that are read once and kept on chip: in registers, and in shared memory beyond that. The blocks of a cluster
// share a long row, a slice each. Gradients keep two rows, y and dy.
#pragma once
#include <ridge/softmax/rows.hpp>
#include <ridge/tile/l2_prefetch.hpp>

namespace ridge::softmax_detail::resident {

// What a lane keeps: vectors of each tensor in registers and in shared memory. The two rows of gradients have the room
// of one, with at most two vectors each in registers.
struct Kept {
  int tensors, in_registers, in_shared;
};
constexpr Kept kept(const Config& c, bool backward) {
  if (!backward) return {1, c.in_registers, c.in_shared};
  const int registers = std::clamp(c.in_registers / 2, 1, 2);
  return {2, registers, std::max((c.in_registers + c.in_shared) / 2 - registers, 0) / 2 * 2};
}
// The most vectors of a row that is kept; elements before and after them are kept apart.
constexpr std::int64_t capacity(const Config& c, bool backward) {
  const Kept k = kept(c, backward);
  return std::int64_t{lanes(c)} * (k.in_registers + k.in_shared) * c.cluster;
}
constexpr int smem_bytes(const Config& c, bool backward) {
  const Kept k = kept(c, backward);
  return c.threads * k.tensors * k.in_shared * vector_bytes;
}

constexpr bool has_gradient(const Config& c) { return c.cluster == 1 && !c.dependent_launch; }

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (c.dependent_launch) {
    if (p.backward) return "it has no gradient";
    if (p.rows > device.sms) return "it is for no more rows than there are multiprocessors";
    constexpr std::int64_t of_a_warp = 32;  // vectors: measured on an H100, a dependent launch costs more than it saves
    if (p.dtype != f64 && vectors(p) <= of_a_warp) return "rows that a warp keeps are `warp_16`'s and `warp_32`'s";
  }
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (std::string why = refuse_apart(p); !why.empty()) return why;
  if (c.cluster > 1) {
    if (device.cc != 90) return "clusters are of compute capability 9.0";
    if (p.backward) return "it has no gradient";
    if (vectors(p) < c.cluster)
      return "a row has " + std::to_string(vectors(p)) + " vectors of 16 bytes for " + std::to_string(c.cluster) +
             " blocks";
  }
  if (std::string why = refuse_longer(vectors(p), capacity(c, p.backward)); !why.empty()) return why;
  return refuse_smem(smem_bytes(c, p.backward), device);
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, c.rows) * c.cluster,
          .threads = c.threads,
          .registers = c.in_registers >= 7   ? 64
                       : c.in_registers >= 4 ? 48
                                             : 40,
          .smem = smem_bytes(c, p.backward)};
}

// The prefetch distance in rows, if a block or a cluster has one row. In clusters, two thirds of the blocks' distance
// is the fastest on an H200, and in float32 no prefetch: it made 131,072 columns slower by 4 to 9 %.
inline std::int64_t prefetch_distance(const Config& c, const SoftmaxProblem& p, const DeviceInfo& device) {
  if (c.rows > 1 || (c.cluster > 1 && p.dtype == DType::f32)) return 0;
  const std::int64_t rows = tile::prefetch_distance(device, c.threads * c.cluster, p.cols * element_bytes(p));
  return c.cluster > 1 ? rows * 2 / 3 : rows;
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Kept keeps = kept(c, p.backward);
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  const bool wide = element_bytes(p) == 2;  // twice the elements in a vector
  if (wide) k.block_us *= 1.35;
  k.trip_bytes = std::min(row_bytes(p), static_cast<double>(lanes(c) * c.in_registers * vector_bytes)) * c.rows;
  if (p.backward) k.trip_bytes *= 2;
  // No maximum, and no exponentials; measured.
  if (p.backward) k.block_us = c.in_registers == 1 ? k.block_us - 0.45 : 0.5 * k.block_us;
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c, p.backward));
  if (c.cluster > 1) k.trip_bytes = row_bytes(p) / c.cluster;
  // Vectors in shared memory are written there, and read in each of three passes: measured, for 512 threads.
  const double vector_us = (wide ? 0.75 : 0.5) * c.threads / 512;
  const double in_shared = std::ceil(static_cast<double>(vectors(p)) / (lanes(c) * c.cluster)) - keeps.in_registers;
  k.block_us += vector_us * std::max(in_shared, 0.0);
  if (c.cluster > 1 && k.blocks <= device.sms) k.block_us *= 0.5;  // each has a multiprocessor to itself
  add_code(k, c.dependent_launch ? 1 : 0.2);
  if (c.dependent_launch && device.cc == 90) k.serial_us -= 1;  // its start overlaps the end of the kernel before it
  return k;
}

inline std::string_view lesson(const Variant& row) {
  return row.config.in_registers > 1 && row.config.rows > 1 ? "coarsening" : "tiling";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::resident
