// Neighbouring lanes fold neighbouring rows, which are side by side as the columns of a matrix are: by 16-byte vectors,
// or element by element at any strides.
#pragma once
#include <ridge/reduce/request.hpp>
#include <ridge/tile/columns.hpp>

#include <cmath>

namespace ridge::reduce_detail {

// A thread's accesses in flight: no more than registers hold. A byte takes a register of its own, and its upcast
// another.
constexpr int column_vectors(int vectors, int element_bytes) {
  return element_bytes == 8 || element_bytes == 1 ? vectors / 2 : vectors;
}

// The finish of columns: one pass of a kernel shaped as `columns` over partial results [slices, rows].
inline constexpr Config column_finish{.algorithm = Algorithm::columns, .threads = 256, .vectors = 8, .strided = true};

namespace columns {

// Other types are read element by element.
constexpr bool instantiated(const Config& c, Reduce f, DType dtype) {
  return c.strided || (f != Reduce::dot && is_short_float(dtype));
}

// The threads of a block. A lane has as many neighbouring rows as one access has elements.
constexpr tile::ColumnBlock block_of(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  const int most_lanes = v > 1 ? tile::column_lanes(ceil_div(e.rows, v)) : 128;  // 128: 512 bytes of float
  return tile::column_block(c.threads, most_lanes, ceil_div(e.inner, v),
                            ceil_div(e.cols, column_vectors(c.vectors, element_bytes)));
}
constexpr tile::ColumnBlock block_of_finish(std::int64_t rows, std::int64_t slices) {
  // 32 bytes of float side by side: few, so that many blocks share the work
  constexpr std::int64_t lanes = 8;
  return block_of(column_finish, {rows, slices, std::min(rows, lanes)}, 4);
}

constexpr Tiling tiling(const Config& c, const Extent& e, int element_bytes) {
  const tile::ColumnBlock k = block_of(c, e, element_bytes);
  const std::int64_t block_rows = std::int64_t{k.groups} * k.lanes * access_elements(c, element_bytes);
  return {.row_threads = k.depth,
          .vectors = column_vectors(c.vectors, element_bytes),
          .block_rows = block_rows,
          .row_blocks = ceil_div(e.rows, block_rows)};
}

constexpr std::int64_t slices_of(const Config& c, const Extent& e, int element_bytes, int sms) {
  if (c.cut == Cut::whole) return 1;
  const Tiling t = tiling(c, e, element_bytes);
  const std::int64_t blocks = std::max<std::int64_t>(t.row_blocks, 1), resident = std::int64_t{sms} * c.blocks_per_sm;
  return even_slices(t, e.cols, c.waves == 1 ? tile::whole_waves(blocks, resident, 0.5) : resident * c.waves / blocks);
}

// Levels are added as a tree, those of the finish too.
constexpr std::int64_t additions_of_finish(std::int64_t rows, std::int64_t slices) {
  const tile::ColumnBlock finish = block_of_finish(rows, slices);
  return slices > 1 ? ceil_div(slices, finish.depth) + ceil_log2(finish.depth) : 0;
}
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t slices, int element_bytes) {
  const Tiling t = tiling(c, e, element_bytes);
  return t.slice_tiles(e.cols, slices) * t.vectors + ceil_log2(t.row_threads) + additions_of_finish(e.rows, slices);
}

// The workspace for the partial results of several slices.
constexpr std::size_t workspace(const Request& r, std::int64_t slices) {
  return slices > 1 ? partials_room(r.extent.rows * slices, r.problem) : 0;
}

inline constexpr const char* not_side_by_side = "rows do not lie side by side";
inline constexpr const char* not_one_axis = "not one axis is reduced";

inline bool are_side_by_side(const ReduceAxes& axes) { return axes.outer > 0 && axes.x[axes.outer - 1] == 1; }

// Why columns cannot be read by whole vectors.
inline std::string refuse_layout(const Config& c, const Request& r) {
  const ReduceAxes& axes = r.axes;
  const int v = access_elements(c, element_bytes(r.problem)), last = axes.outer - 1;
  if (!are_side_by_side(axes)) return not_side_by_side;
  if (axes.rank - axes.outer != 1 && r.extent.cols != 1) return not_one_axis;
  const std::string bytes = std::to_string(c.access_bytes) + " bytes";
  if (axes.shape[last] % v != 0) return "what lies side by side is not a multiple of " + bytes;
  bool misaligned = r.problem.start < c.access_bytes;
  for (int axis = 0; axis < axes.rank; ++axis) misaligned = misaligned || (axis != last && axes.x[axis] % v != 0);
  return misaligned ? "rows do not lie on boundaries of " + bytes : "";
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  if (!instantiated(c, p.function, p.dtype))
    return p.function == Reduce::dot ? dot_has_one_row : "columns by 16 bytes are for f32, f16 and bf16";
  if (!c.strided)
    if (std::string why = refuse_layout(c, r); !why.empty()) return why;
  return c.cut == Cut::whole ? refuse_longer(tiling(c, r.extent, element_bytes(p)), r) : "";
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  return {.grid = grid_of(tiling(c, r.extent, size), slices),
          .threads = c.threads,
          .registers = 64,
          .smem = c.threads * access_elements(c, size) * partial_bytes(r.problem),
          .workspace = workspace(r, slices)};
}

// ---- models of kernels that take any strides

// The distance from one lane's element to the next lane's.
inline std::int64_t between_lanes(const Request& r) {
  const ReduceAxes& axes = r.axes;
  std::int64_t nearest = axes.outer < axes.rank ? std::abs(axes.x[axes.rank - 1]) : 1;
  if (r.extent.inner > 1) nearest = std::abs(axes.x[axes.outer - 1]);
  return std::max<std::int64_t>(nearest, 1);
}
// The share of the 32-byte sectors read that such a kernel asked for: an element that is apart loads its neighbours
// too.
inline double share_of_sectors(const Request& r) {
  return std::max(element_bytes(r.problem) / 32.0, 1.0 / static_cast<double>(between_lanes(r)));
}
// Clocks of a multiprocessor for 32 lanes' elements: one for each line of 128 bytes that they are in.
inline double lines_of_warp(const Request& r) {
  return std::clamp(32.0 * static_cast<double>(between_lanes(r)) * element_bytes(r.problem) / 128, 1.0, 32.0);
}

// Their use of memory. Blocks are long: those of the last wave leave a part of the device idle.
inline void read_columns(roofline::Kernel& k, const Config& c, const Request& r, const DeviceInfo& device) {
  const Extent& e = r.extent;
  const double waves = static_cast<double>(k.blocks) / (device.sms * c.blocks_per_sm);
  k.memory_share = share_of_sectors(r) * (waves > 1 ? waves / std::ceil(waves) : 1);
  if (c.strided) k.clocks += static_cast<double>(e.rows) * static_cast<double>(e.cols) / 32 * lines_of_warp(r);
}
// Several reduced axes: one element at a time, each with its offset. Measured on an H200.
inline void add_offsets(roofline::Kernel& k, const Tiling& t, const Request& r) {
  constexpr double offsets_us = 0.13;
  if (r.axes.rank - r.axes.outer <= 1) return;
  k.trips *= t.vectors;
  k.block_us += k.trips * offsets_us;
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const Extent& e = r.extent;
  const int size = element_bytes(r.problem);
  const Tiling t = tiling(c, e, size);
  const std::int64_t slices = slices_of(c, e, size, device.sms);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), t, slices, r);
  k.block.smem = 0;  // predictions are fitted without it
  read_columns(k, c, r, device);
  k.trips = static_cast<double>(ceil_div(ceil_div(e.cols, slices), t.tile_elements()));
  k.block_us = prologue_us + 2 * std::log2(t.row_threads) * barrier_us;
  add_offsets(k, t, r);
  // A block of one element per row is all prologue and epilogue: measured 1.4 to 1.8 times the prediction.
  if (!c.strided && e.cols == 1) {
    constexpr double of_one_element = 1.8;
    k.block_us *= of_one_element;
    k.trips *= of_one_element;
    k.clocks *= of_one_element;
    k.memory_share /= of_one_element;
  }
  grid_stride(k, t, slices);
  if (slices > 1) finish_by(k, 1);
  return k;
}

inline std::string_view lesson(const Variant& row) { return row.config.strided ? "" : "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, slices_of, additions};

}  // namespace columns
}  // namespace ridge::reduce_detail
