// The textbook's steps towards slices: one row, one element per thread.
#pragma once
#include <ridge/reduce/request.hpp>

#include <cmath>

namespace ridge::reduce_detail::textbook {

// Whether y itself is the accumulator, of elements or of the blocks' results: there are no partial results.
constexpr bool is_atomic(const Config& c) {
  return c.algorithm == Algorithm::atomic || c.algorithm == Algorithm::block_atomic;
}

constexpr bool instantiated(const Config& c, Reduce f, DType dtype, Accumulate accumulate) {
  if (accumulate == Accumulate::two_float || f == Reduce::dot) return false;
  const bool simple = dtype == DType::f32 || dtype == DType::i32;
  if (!is_atomic(c)) return simple && !locates(f);
  if (f == Reduce::mean) return false;  // there is no kernel to divide
  // One atomic instruction does these.
  return (kernels_of(f) == Reduce::sum && simple) || ((f == Reduce::max || f == Reduce::min) && dtype == DType::i32);
}

constexpr Tiling tiling(const Config& c, const Extent& e, int) {
  return {.row_threads = c.threads, .row_blocks = e.rows};
}
// A block has a tile and writes a partial result; with atomics there are none.
constexpr std::int64_t slices_of(const Config& c, const Extent& e, int element_bytes, int) {
  return is_atomic(c) ? 1 : tiling(c, e, element_bytes).row_tiles(e.cols);
}
// Additions to y by atomics, which come one after another.
constexpr std::int64_t atomics(const Config& c, const Extent& e) {
  return c.algorithm == Algorithm::atomic ? e.cols : ceil_div(e.cols, c.threads);
}
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t slices, int) {
  switch (c.algorithm) {
    case Algorithm::atomic: return atomics(c, e);
    case Algorithm::block_atomic: return 1 + block_additions(c.threads) + atomics(c, e);
    case Algorithm::block_serial: return c.threads + finish_additions(slices);
    default: return 1 + block_additions(c.threads) + finish_additions(slices);
  }
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const bool atomic = is_atomic(c);
  if (!instantiated(c, p.function, p.dtype, p.accumulate))
    return atomic ? "an atomic instruction does sums of f32 and i32, and max and min of i32" : is_step_of_textbook;
  if (atomic && is_floating(p.dtype) && !r.by_name)
    return "the order of its additions changes from run to run: only by name";
  if (std::string why = refuse_several_rows(r); !why.empty()) return why;
  if (std::string why = refuse_gaps(r); !why.empty()) return why;
  if (ceil_div(r.extent.cols, c.threads) > max_grid)
    return "more than " + std::to_string(max_grid * c.threads) + " elements, one per thread";
  return {};
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  Footprint launch{.threads = c.threads, .registers = 24};
  if (is_atomic(c)) {
    launch.grid = ceil_div(r.extent.cols, c.threads);
  } else {
    launch.grid = slices_of(c, r.extent, element_bytes(r.problem), device.sms);
    launch.workspace = partials_room(partial_count(launch.grid), r.problem);
  }
  return launch;
}

// Wavefronts that bank conflicts add to a block of tree_strided. At each distance, neighbouring lanes access partial
// results that are twice the distance apart: with two loads and a store.
constexpr std::int64_t conflicts_of_strided(int threads, int partial_bytes) {
  const int wave = 128 / partial_bytes;  // lanes of a wavefront without conflicts: 32 banks of 4 bytes
  std::int64_t conflicts = 0;
  for (int distance = 1; distance < threads; distance *= 2) {
    const int stride = 2 * distance, active = threads / stride;
    const int lanes = std::min(active, wave), banks = std::max(1, wave / stride);
    conflicts += ceil_div(active, wave) * (ceil_div(lanes, banks) - 1);
  }
  constexpr int accesses = 3;
  return accesses * conflicts;
}

// A block's time from its elements to its result.
inline double combine_us(const Config& c) {
  switch (c.algorithm) {
    case Algorithm::block_serial: return barrier_us + c.threads * shared_word_us;
    case Algorithm::shuffle:
    case Algorithm::block_atomic: return barriers_of_shuffle * barrier_us;
    default: return (1 + std::log2(c.threads)) * barrier_us;  // a tree's
  }
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), tiling(c, r.extent, size), slices, r);
  if (c.algorithm != Algorithm::atomic) k.block_us = combine_us(c);
  if (is_atomic(c)) {
    // Serial additions on one address, float and integer: measured on an H200 with one per element.
    const double atomic_us = is_floating(r.problem.dtype) ? 1.757e-3 : 0.73e-3;
    k.launches = 2;  // y is set first
    k.serial_us = static_cast<double>(atomics(c, r.extent)) * atomic_us;
    return k;
  }
  if (c.algorithm == Algorithm::tree_strided)  // a clock for each wavefront
    k.clocks += static_cast<double>(slices * conflicts_of_strided(c.threads, partial_bytes(r.problem)));
  finish_by(k, finish_passes(slices));
  return k;
}

inline std::string_view lesson(const Variant& row) {
  switch (row.config.algorithm) {
    case Algorithm::block_serial:
    case Algorithm::tree_interleaved:
    case Algorithm::block_atomic: return "privatisation";  // a partial result per block
    case Algorithm::tree_strided:
    case Algorithm::tree_sequential: return "divergence";
    case Algorithm::shuffle: return "tiling";  // registers in place of shared memory
    default: return {};
  }
}

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, slices_of, additions};

}  // namespace ridge::reduce_detail::textbook
