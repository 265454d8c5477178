// Rows that are read once and kept on chip: in registers, and in shared memory beyond that. The blocks of a cluster
// share a long row with a residual, a slice each.
#pragma once
#include <ridge/norm/sums.hpp>
#include <ridge/tile/row_span.hpp>

namespace ridge::norm_detail::resident {

// What a kernel keeps: rows of how many tensors, and how many vectors of each in a lane's registers and shared memory.
// A pass that does more than normalise a row has registers for at most 16 words of rows.
struct Held {
  int tensors, in_registers, in_shared, blocks_per_sm;
};
constexpr Held held(Config c, Use use) {
  const int vectors = c.in_registers + c.in_shared;
  if (use == Use::plain) return {1, c.in_registers, c.in_shared, c.blocks_per_sm};
  if (use == Use::added) {
    const int in_registers = std::min(c.in_registers, 4);
    return {1, in_registers, vectors - in_registers, (3 * c.blocks_per_sm + 3) / 4};  // a third more registers
  }
  const int in_registers = std::clamp(c.in_registers / 2, 1, 2);
  return {2, in_registers, std::max(vectors / 2 - in_registers, 0), std::min(c.blocks_per_sm, 2)};
}
// The most vectors of a row that is kept; elements before and after them are kept apart.
constexpr std::int64_t capacity(const Config& c, Use use) {
  const Held h = held(c, use);
  return std::int64_t{lanes(c)} * (h.in_registers + h.in_shared) * c.cluster;
}
constexpr int smem_bytes(const Config& c, Use use) {
  const Held h = held(c, use);
  return c.threads * h.tensors * h.in_shared * vector_bytes;
}

constexpr bool has_gradient(const Config& c) { return !c.dependent_launch; }

inline std::string fits(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_two_float(c, p); !why.empty()) return why;
  if (p.backward && !has_gradient(c)) return "it has no gradient";
  if (c.dependent_launch && p.rows > device.sms) return "it is for no more rows than there are multiprocessors";
  if (c.added && use_of(p) != Use::added) return "it is for rows with a residual";
  if (std::string why = refuse_f64(p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (std::string why = refuse_cluster(c, p, device); !why.empty()) return why;
  if (std::string why = refuse_longer(p, capacity(c, use_of(p))); !why.empty()) return why;
  return refuse_smem(smem_bytes(c, use_of(p)), device);
}

// As nvcc 13 allocates them for sm_90a, as in all families.
constexpr int registers(const Config& c, const NormProblem& p) {
  if (c.in_registers >= 8) return 80;
  if (c.in_registers >= 4 || p.backward) return 64;
  return is_two_float(p) ? 48 : 40;
}

inline Footprint footprint(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return with_sums({.grid = blocks_of(c, p) * c.cluster,
                    .threads = c.threads,
                    .registers = registers(c, p),
                    .smem = smem_bytes(c, use_of(p))},
                   c, p, device);
}

// A row's time: its reductions, and the passes over each vector, which take longer for those in shared memory; fitted
// to an H200.
inline double block_us(const Config& c, const NormProblem& p, const DeviceInfo& device) {
  const bool wide = element_bytes(p) == 2;  // twice the elements in a vector
  const double of_lane = std::max(std::ceil(static_cast<double>(vectors(p)) / (lanes(c) * c.cluster)), 1.0);
  const double in_registers = std::min<double>(of_lane, held(c, use_of(p)).in_registers);
  const double register_us = p.backward ? (wide ? 0.68 : 0.5) : wide ? 0.3 : 0.1;
  const double shared_us = p.backward ? (wide ? 2.4 : 3.0) : (wide ? 0.93 : 0.8) * (p.added ? 1 : 0.68);
  const double shifted = alignment_offsets(p) > 1 && p.gamma ? (wide ? 2.4 : 1.7) : 1;  // gamma is not co-aligned
  const double longer_us = is_two_float(p) ? register_us * (forward_clocks(p) / 2.5 - 1) : 0;  // as instructions go
  const double us = (lanes(c) > device.warp ? 0.6 + 0.01 * c.threads / 32 : 0.2) +
                    (c.cluster > 1 ? (c.cluster > 2 ? 2.7 : 0.65) * c.cluster : 0) +
                    shifted * (register_us * in_registers + shared_us * (of_lane - in_registers)) + longer_us * of_lane;
  return lanes(c) <= device.warp && p.cols <= tile::span_most_cols ? us + 0.6 : us;  // most lanes are idle
}

inline roofline::Kernel model(const Variant& row, const NormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Use use = use_of(p);
  const bool wide = element_bytes(p) == 2;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.block_us = block_us(c, p, device);
  if (element_bytes(p) == 4 && use == Use::plain) k.memory_share = 0.975;  // measured
  k.trip_bytes = row_bytes(p) / c.cluster * tensors_kept(p) * c.rows;
  k.tile_efficiency = static_cast<double>(vectors(p)) / static_cast<double>(capacity(c, use));
  if (c.dependent_launch && device.cc == 90) k.serial_us -= 0.5;  // its start overlaps the kernel before it
  // 16-bit elements are converted in each pass; in gradients, gamma for every row.
  const double conversions = !wide ? 0 : p.backward ? 4 + 1.5 * p.gamma : 2;
  k.clocks = clocks_of(p, conversions, elements(p));
  add_code(k, c.dependent_launch                            ? 1.4
              : c.threads >= 1024                           ? 1.6
              : c.in_registers >= 8 || c.in_shared > 0      ? 1.1
              : use == Use::plain && lanes(c) > device.warp ? 1
                                                            : 0.6);
  add_sums(k, c, p, device);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  return row.config.in_registers > 1 && row.config.rows > 1 ? "coarsening" : "tiling";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::norm_detail::resident
