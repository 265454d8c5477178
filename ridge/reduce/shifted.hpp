// Columns at any pitch by 16-byte vectors: a thread's rows of the matrix are so far apart that all have the same
// alignment offset.
#pragma once
#include <ridge/reduce/columns.hpp>

namespace ridge::reduce_detail {

// A vector of a 16-bit type is twice as many sums in a thread, which take the registers of one block.
constexpr int shifted_blocks_per_sm(int blocks_per_sm, int element_bytes) {
  return blocks_per_sm - (element_bytes == 2 ? 1 : 0);
}

namespace shifted {

constexpr bool instantiated(Reduce f, DType dtype, Accumulate accumulate) {
  return kernels_of(f) == Reduce::sum && is_short_float(dtype) && accumulate == Accumulate::plain;
}

// The threads of a block are [levels, lanes], and it reads one access more per row than it has columns. Wide blocks
// waste less by that, if there are enough columns.
constexpr int lanes_of(const Extent& e, int access_elements) {
  constexpr int wide = 64, narrow = 32, enough_blocks = 16;
  return e.inner >= std::int64_t{enough_blocks} * wide * access_elements ? wide : narrow;
}

// A block has columns of one matrix.
constexpr Tiling tiling(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes), lanes = lanes_of(e, v);
  const std::int64_t block_rows = std::int64_t{lanes - 1} * v;
  return {.row_threads = c.threads / lanes,
          .vectors = column_vectors(c.vectors, element_bytes),
          .block_rows = block_rows,
          .row_blocks = e.inner == 0 ? ceil_div(e.rows, block_rows) : e.rows / e.inner * ceil_div(e.inner, block_rows)};
}

// Two waves, rounded to nearest, but no slice shorter than 16 iterations of a block unless half the chip would be idle.
constexpr std::int64_t slices_of(const Config& c, const Extent& e, int element_bytes, int sms) {
  constexpr std::int64_t shortest = 16;
  const Tiling t = tiling(c, e, element_bytes);
  const std::int64_t blocks = std::max<std::int64_t>(t.row_blocks, 1);
  const std::int64_t resident = std::int64_t{sms} * shifted_blocks_per_sm(c.blocks_per_sm, element_bytes);
  return even_slices(t, e.cols,
                     std::min((4 * resident + blocks) / (2 * blocks),
                              std::max(t.row_tiles(e.cols) / shortest, resident / (2 * blocks))));
}
// Levels are added one by one.
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t slices, int element_bytes) {
  const Tiling t = tiling(c, e, element_bytes);
  return t.slice_tiles(e.cols, slices) * t.vectors + t.row_threads + columns::additions_of_finish(e.rows, slices);
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const ReduceAxes& axes = r.axes;
  const int size = element_bytes(p);
  if (!instantiated(p.function, p.dtype, p.accumulate))
    return "columns at any pitch are for plain sums and means of f32, f16 and bf16";
  if (!columns::are_side_by_side(axes)) return columns::not_side_by_side;
  if (axes.rank - axes.outer != 1) return columns::not_one_axis;
  if (r.extent.inner != axes.shape[axes.outer - 1]) return columns::not_side_by_side;
  if (axes.x[axes.rank - 1] < r.extent.inner)
    return "the axis that is reduced does not step past what lies side by side";
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  return tiling(c, r.extent, size).row_blocks > max_grid || slices > max_grid_y ? too_many_blocks : "";
}

// Shared memory has each thread's sums, and a vector more for each level, as they are shifted.
inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem), v = access_elements(c, size), lanes = lanes_of(r.extent, v);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  return {.grid = grid_of(tiling(c, r.extent, size), slices),
          .threads = c.threads,
          .registers = size == 2 ? 40 : 32,
          .smem = c.threads / lanes * (lanes + 1) * v * partial_bytes(r.problem),
          .workspace = columns::workspace(r, slices)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const Tiling t = tiling(c, r.extent, size);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), t, slices, r);
  k.block.smem = 0;  // predictions are fitted without it
  k.memory_share = 0.98;
  k.trips = static_cast<double>(ceil_div(ceil_div(r.extent.cols, slices), t.tile_elements()));
  k.block_us = prologue_us + 2 * barrier_us;
  grid_stride(k, t, slices);
  if (slices > 1) finish_by(k, 1);
  return k;
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, slices_of, additions};

}  // namespace shifted
}  // namespace ridge::reduce_detail
