// The textbook's steps towards slices: one row, one element per thread.
#pragma once
#include <ridge/reduce/request.hpp>

#include <cmath>

namespace ridge::reduce_detail::textbook {

constexpr bool instantiated(const Config& c, Reduce f, DType dtype, Accumulate accumulate) {
  if (accumulate == Accumulate::two_float || f == Reduce::dot) return false;
  const bool simple = dtype == DType::f32 || dtype == DType::i32;
  if (c.algorithm != Algorithm::atomic) return simple && !locates(f);
  if (f == Reduce::mean) return false;  // there is no kernel to divide
  // One atomic instruction does these.
  return (kernels_of(f) == Reduce::sum && simple) || ((f == Reduce::max || f == Reduce::min) && dtype == DType::i32);
}

constexpr Tiling tiling(const Config& c, const Extent& e, int) {
  return {.row_threads = c.threads, .row_blocks = e.rows};
}
// A block has a tile and writes a partial result; atomics write none.
constexpr std::int64_t slices_of(const Config& c, const Extent& e, int element_bytes, int) {
  return c.algorithm == Algorithm::atomic ? 1 : tiling(c, e, element_bytes).row_tiles(e.cols);
}
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t slices, int) {
  if (c.algorithm == Algorithm::atomic) return e.cols;
  return 1 + block_additions(c.threads) + finish_additions(slices);
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const bool atomic = c.algorithm == Algorithm::atomic;
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
  if (c.algorithm == Algorithm::atomic) {
    launch.grid = ceil_div(r.extent.cols, c.threads);
  } else {
    launch.grid = slices_of(c, r.extent, element_bytes(r.problem), device.sms);
    launch.workspace = partials_room(partial_count(launch.grid), r.problem);
  }
  return launch;
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), tiling(c, r.extent, size), slices, r);
  if (c.algorithm == Algorithm::atomic) {
    // Serial additions on one address, float and integer: measured on an H200.
    const double atomic_us = is_floating(r.problem.dtype) ? 1.757e-3 : 0.73e-3;
    k.launches = 2;  // y is set first
    k.serial_us = static_cast<double>(r.extent.cols) * atomic_us;
    return k;
  }
  const double barriers = c.algorithm == Algorithm::shuffle ? barriers_of_shuffle : 1 + std::log2(c.threads);
  k.block_us = barriers * barrier_us;
  finish_by(k, finish_passes(slices));
  return k;
}

inline std::string_view lesson(const Variant& row) {
  switch (row.config.algorithm) {
    case Algorithm::tree_interleaved: return "privatisation";  // a partial result per block
    case Algorithm::tree_sequential: return "divergence";
    case Algorithm::shuffle: return "tiling";  // registers in place of shared memory
    default: return {};
  }
}

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, slices_of, additions};

}  // namespace ridge::reduce_detail::textbook
