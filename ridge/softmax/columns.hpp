// Rows that lie side by side, their elements apart, as those of an axis that is not the last: neighbouring lanes have
// neighbouring rows, and a block's warps have parts of them.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::columns {

// The threads that share a row, and the elements of it that each keeps in registers: for a gradient half as many, of
// both tensors. Elements of `width` rows take a register each, or two where they have 8 bytes.
constexpr int parts(const Config& c) { return c.threads / c.rows; }
constexpr int kept(const Config& c, bool backward, int width, std::size_t element_bytes) {
  const int registers = std::max(width, static_cast<int>(element_bytes / 4));
  return c.in_registers / registers / (backward ? 2 : 1);
}

// Elements of neighbouring rows that a lane has: as many as make 4 bytes, where all rows allow accesses of these.
inline int width(const SoftmaxProblem& p) {
  const std::int64_t most = std::max<std::int64_t>(1, 4 / element_bytes(p));
  for (const auto* rows : {&p.x, &p.y, &p.dy}) {
    if (!*rows) continue;
    const Layout& outer = (*rows)->outer;
    bool whole = (*rows)->alignment_offset % (most * element_bytes(p)) == 0 && (*rows)->step % most == 0 &&
                 outer.shape[outer.rank - 1] % most == 0;
    for (int axis = 0; axis < outer.rank - 1; ++axis) whole = whole && outer.stride[axis] % most == 0;
    if (!whole) return 1;
  }
  return static_cast<int>(most);
}

inline std::string fits(const Variant&, const SoftmaxProblem& p, const DeviceInfo&) {
  for (const auto* rows : {&p.x, &p.y, &p.dy}) {
    if (!*rows) continue;
    const Layout& outer = (*rows)->outer;
    if (outer.rank < 1 || outer.stride[outer.rank - 1] != 1) return "neighbouring rows do not lie side by side";
    if (outer.rank > 2) return "rows that lie side by side are not evenly spaced";
  }
  return {};
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, std::int64_t{c.rows} * width(p)),
          .threads = c.threads,
          .registers = std::min(roofline::registers_for(c.threads, c.blocks_per_sm), 128)};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  const double per_thread = std::ceil(static_cast<double>(p.cols) / parts(c));
  const double at_a_time = kept(c, p.backward, width(p), static_cast<std::size_t>(element_bytes(p)));
  if (per_thread > at_a_time) read_again(k, 1, rows_per_block(c) * width(p), p, device);
  k.trips = std::ceil(per_thread / at_a_time) * (per_thread > at_a_time ? 2 : 1);
  k.trip_bytes = std::min(per_thread, at_a_time) * c.threads * width(p) * static_cast<double>(element_bytes(p)) *
                 (p.backward ? 2 : 1);
  k.tile_efficiency = static_cast<double>(p.cols) / (per_thread * parts(c));
  // Clocks of a multiprocessor for an element of each lane: with pairs of 16-bit elements, where absent ones are
  // computed too, measured on an H100; else, where memory is slower, estimated.
  const bool in_pairs = width(p) > 1;
  const double computed = in_pairs ? std::ceil(per_thread / at_a_time) * at_a_time : per_thread;
  k.clocks = static_cast<double>(p.rows) / 32 * parts(c) * computed * (in_pairs ? 20 : 8);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::columns
