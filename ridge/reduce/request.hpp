// What several families require of a problem, how they divide it among blocks and threads, common refusals, and the
// start of their models.
#pragma once
#include <ridge/reduce/finish.hpp>
#include <ridge/reduce/variants.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <string>

namespace ridge::reduce_detail {

// Precondition: two axes.
inline Layout diagonal(const Layout& matrix) {
  Layout line = Layout::contiguous({std::min(matrix.shape[0], matrix.shape[1])});
  line.stride[0] = line.shape[0] <= 1 ? 1 : matrix.stride[0] + matrix.stride[1];
  return line;
}

// A problem, as kernels see it too.
struct Request {
  const ReduceProblem& problem;
  const ReduceAxes& axes;
  const Extent& extent;
  bool by_name = true;  // the variant was asked for by its name
};

using Family = roofline::Family<Variant, Request>;
using roofline::Footprint;

constexpr int element_bytes(const ReduceProblem& p) { return static_cast<int>(size_of(p.dtype)); }
constexpr Config config_of(const Variant& row, const Request& r) { return config_of(row.config, r.problem.function); }

// Whether rows are contiguous, those of z too.
constexpr bool has_contiguous_rows(const ReduceAxes& axes, const Extent& e) {
  return e.cols <= 1 || (axes.rank - axes.outer == 1 && axes.x[axes.outer] == 1 && axes.z[axes.outer] == 1);
}

// ---- how rows are divided

// The most elements that a thread adds to one accumulator: this bounds the error of float sums.
inline constexpr std::int64_t longest_chain = 1024;

// How the threads of a block share rows, and the elements of a row.
struct Tiling {
  int row_threads = 1;          // threads that share a row, or a slice of it
  int row_elements = 1;         // elements of a row in one access
  int vectors = 1;              // a thread's accesses in flight
  std::int64_t block_rows = 1;  // rows of a block at a time
  std::int64_t row_blocks = 0;  // blocks for all rows

  // Elements of a row that its threads read at a time.
  constexpr std::int64_t tile_elements() const { return std::int64_t{row_threads} * vectors * row_elements; }
  constexpr std::int64_t longest_slice() const { return longest_chain * row_threads * row_elements; }
  // Tiles of a row that starts on an access; one that starts amid an access may have one more, which the last slice
  // has.
  constexpr std::int64_t row_tiles(std::int64_t cols) const {
    return std::max<std::int64_t>(1, ceil_div(cols, tile_elements()));
  }
  // Tiles of a slice; of the last one fewer, or one more.
  constexpr std::int64_t slice_tiles(std::int64_t cols, std::int64_t slices) const {
    return ceil_div(row_tiles(cols), slices);
  }
};

// How a family divides rows.
struct Partition {
  Tiling (*tiling)(const Config&, const Extent&, int element_bytes);
  // Slices of each row, at least one, on a device of `sms` multiprocessors.
  std::int64_t (*slices)(const Config&, const Extent&, int element_bytes, int sms);
  // The most additions between an element and the result, so that the error of a float sum is at most this, times the
  // unit roundoff, times the sum of |x|. From the order in which the kernels add, for warps of 32 (64 adds one).
  std::int64_t (*additions)(const Config&, const Extent&, std::int64_t slices, int element_bytes);
};

constexpr std::int64_t one_slice(const Config&, const Extent&, int, int) { return 1; }

// As many slices as `wanted`, or as the longest chain requires, all of the same number of tiles except the last.
constexpr std::int64_t even_slices(const Tiling& t, std::int64_t cols, std::int64_t wanted) {
  const std::int64_t tiles = t.row_tiles(cols), accurate = ceil_div(cols, t.longest_slice());
  const std::int64_t count = std::clamp<std::int64_t>(std::max(wanted, accurate), 1, tiles);
  return ceil_div(tiles, ceil_div(tiles, count));
}

// Blocks in x for rows, by blocks in y for slices. If the grid is smaller than those, blocks take grid strides.
constexpr std::int64_t grid_of(const Tiling& t, std::int64_t slices) {
  return std::min(t.row_blocks, max_grid) * std::min(slices, max_grid_y);
}

// ---- what is instantiated: the textbook's steps for few functions and types, the others for all of the contract

constexpr bool is_short_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}
// The function whose kernels serve this one too.
constexpr Reduce kernels_of(Reduce f) { return f == Reduce::mean || f == Reduce::trace ? Reduce::sum : f; }

// ---- refusals that families share; empty: none

inline constexpr const char* is_step_of_textbook =
    "a step of the textbook: sum, mean, max and min of f32 and i32 (vec4: dot too)";
inline constexpr const char* dot_has_one_row = "dot has one row";
inline constexpr const char* too_many_blocks = "more blocks than one launch has";

inline std::string refuse_several_rows(const Request& r) { return r.extent.rows != 1 ? "there is not one row" : ""; }

inline std::string refuse_gaps(const Request& r) {
  return has_contiguous_rows(r.axes, r.extent) ? "" : "the elements of a row are not neighbours";
}

// For rows that are one slice.
inline std::string refuse_longer(const Tiling& t, const Request& r) {
  if (r.extent.cols <= t.longest_slice()) return {};
  return "more than " + std::to_string(t.longest_slice()) + " elements in a row: sums would lose digits";
}

// ---- models

inline Cost cost(const ReduceProblem& p) {
  const auto distinct = [&](const Layout& layout) {  // a broadcast axis is read once
    double count = layout.count() == 0 ? 0 : 1;
    for (int axis = 0; axis < layout.rank; ++axis)
      count *= layout.stride[axis] == 0 ? 1.0 : static_cast<double>(layout.shape[axis]);
    return count;
  };
  Cost c;
  c.bytes_read = (distinct(p.x) + (arity(p.function) == 2 ? distinct(p.z) : 0)) * static_cast<double>(size_of(p.dtype));
  c.bytes_written = static_cast<double>(p.y.count()) * static_cast<double>(size_of(result_type(p.function, p.dtype)));
  const Unit unit = p.dtype == DType::f64 ? Unit::fp64 : is_floating(p.dtype) ? Unit::fp32 : Unit::int32;
  c.on(unit) = static_cast<double>(p.x.count()) * arity(p.function);
  return c;
}

// Clocks of a multiprocessor for 32 elements beyond what loads hide, measured on an H200 (bench/results/h200).
inline double clocks(const ReduceProblem& p) {
  if (p.accumulate == Accumulate::two_float)
    return p.function == Reduce::dot ? 4.25 : 3.75;  // 6 additions more, counted
  switch (p.function) {
    case Reduce::argmax:
    case Reduce::argmin: return 4.5;
    case Reduce::max:
    case Reduce::min: return size_of(p.dtype) == 2 ? 2.5 : 2;
    default: return 2;
  }
}

// Measured on an H200: what a block does before its first load, and at a barrier.
inline constexpr double prologue_us = 0.45, barrier_us = 0.057;
inline constexpr double barriers_of_shuffle = 2;
// A word of shared memory that a thread adds, where its words follow one another: fitted to times of row_span.
inline constexpr double shared_word_us = 0.02;

// The model of a launch that reads each element once; families' models start from it.
inline roofline::Kernel kernel_of(const Config& c, const Footprint& launch, const Tiling& t, std::int64_t slices,
                                  const Request& r) {
  const ReduceProblem& p = r.problem;
  const Extent& e = r.extent;
  const int size = element_bytes(p);
  const std::int64_t tile = t.tile_elements();
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  if (e.cols == 0) k.blocks = 0;
  k.trip_bytes =
      static_cast<double>(std::min(tile, std::max<std::int64_t>(e.cols, 1)) * t.block_rows) * size * arity(p.function);
  k.clocks = static_cast<double>(e.rows) * static_cast<double>(e.cols) / 32 * clocks(p) *
             (access_elements(c, size) > 1 ? 1 : 2);  // an instruction for each load
  k.tile_efficiency = roofline::tile_efficiency(ceil_div(e.cols, slices), tile);
  return k;
}

// Adds the iterations of blocks that take grid strides, if the grid is smaller than rows and slices.
inline void grid_stride(roofline::Kernel& k, const Tiling& t, std::int64_t slices) {
  const double iterations = static_cast<double>(ceil_div(t.row_blocks * slices, std::max<std::int64_t>(k.blocks, 1)));
  k.trips *= iterations;
  k.block_us *= iterations;
}

// Adds the launches that finish partial results: few blocks and trips, so the latency of each pass.
inline void finish_by(roofline::Kernel& k, int passes) {
  constexpr double pass_us = 0.9;
  k.launches += passes;
  k.serial_us += pass_us * passes;
}

}  // namespace ridge::reduce_detail
