// The table of matrix-vector kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/gemv/gemv.hpp>
#include <ridge/tile/columns.hpp>

#include <algorithm>

namespace ridge::gemv_detail {

enum class Kernel : std::uint8_t {
  naive,    // a thread per row
  rows,     // some lanes of a warp take `rows` rows at a time
  block,    // a block takes a row, or a slice of one
  columns,  // neighbouring lanes take neighbouring rows, which are contiguous: layout t; or any strides
};

struct Config {
  Kernel kernel = Kernel::rows;
  int threads = 256;
  int lanes = 32;         // Kernel::rows: lanes per row
  int access_bytes = 16;  // 0: one element at a time
  int rows = 1;           // Kernel::rows: rows per thread
  int vectors = 1;        // accesses of each row in flight; a thread has rows x vectors x 16 bytes in flight
  bool split_k = false;   // K is cut into slices, as many as fill the chip `waves` times
  int blocks_per_sm = 4;  // minimum per multiprocessor: bounds a thread's registers
  int waves = 1;
  bool strided = false;   // any strides
  bool textbook = false;  // a lesson to teach and measure: f32 only, and no plan chooses it
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per row: neighbouring threads read addresses a row apart",
     {.kernel = Kernel::naive, .access_bytes = 0, .strided = true, .textbook = true}, Role::lesson},
    {"warp_k32", "a warp per row, an element per lane: side by side", {.access_bytes = 0, .textbook = true}, Role::lesson},
    {"warp_k128", "16 bytes per lane: a quarter of the loads", {.textbook = true}, Role::lesson},
    {"warp_k16", "two rows a warp, an element per lane: none is idle where a row has 16",
     {.lanes = 16, .access_bytes = 0, .textbook = true}, Role::lesson},
    {"lanes_2", "two lanes per row, eight rows each: rows of 32 bytes fill a warp's accesses",
     {.lanes = 2, .rows = 8, .blocks_per_sm = 3}},
    {"lanes_4", "four lanes per row: rows of 64 bytes", {.lanes = 4, .rows = 8, .blocks_per_sm = 3}},
    {"lanes_8", "eight lanes per row: rows of 128 bytes", {.lanes = 8, .rows = 8, .blocks_per_sm = 3}},
    {"lanes_16", "sixteen lanes per row: rows of 256 bytes", {.lanes = 16, .rows = 4, .vectors = 2}},
    {"warp", "a warp per two rows, four accesses of each in flight; a part of x serves both",
     {.rows = 2, .vectors = 4, .blocks_per_sm = 3}},
    {"warp_elements", "element by element: unaligned rows", {.access_bytes = 0, .rows = 4, .vectors = 4}},
    {"block", "a block per row, for long rows", {.kernel = Kernel::block, .vectors = 4}},
    {"split", "several blocks per row, where rows are too few to fill the chip",
     {.kernel = Kernel::block, .vectors = 4, .split_k = true, .waves = 4}},
    {"columns", "layout t: 16 bytes of neighbouring rows per thread, K split over threads and blocks",
     {.kernel = Kernel::columns, .vectors = 4, .split_k = true}},
    {"strided", "any strides: an offset per element",
     {.kernel = Kernel::columns, .threads = 512, .access_bytes = 0, .vectors = 8, .split_k = true, .blocks_per_sm = 2,
      .waves = 8, .strided = true}, Role::fallback},
    {"strided_once", "the same in one launch, where there is little to read",
     {.kernel = Kernel::columns, .threads = 512, .access_bytes = 0, .vectors = 8, .blocks_per_sm = 2, .strided = true}, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Whether a row is compiled for a type. f64 has only the rows that take everything.
constexpr bool instantiated(const Config& c, DType dtype) {
  if (c.textbook) return dtype == DType::f32;
  return dtype != DType::f64 || c.strided;
}

// ---- geometry ----------------------------------------------------------------------------------------------------

constexpr int access_elements(const Config& c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}

// The sizes that matter. adjacent: rows nearer to each other than a row's elements; 1: none.
struct Extent {
  std::int64_t m = 0, k = 0, adjacent = 1;
};

// The threads of a block of Kernel::columns. A lane takes as many neighbouring rows as one access has elements.
constexpr tile::ColumnBlock columns_of(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  const int most_lanes = v > 1 ? tile::column_lanes(ceil_div(e.m, v)) : 128;  // 128: 512 bytes of float
  return tile::column_block(c.threads, most_lanes, ceil_div(e.adjacent, v), ceil_div(e.k, c.vectors));
}

// Rows of a block at a time, and elements of each that its threads read at a time.
constexpr std::int64_t block_rows(const Config& c, const Extent& e, int element_bytes) {
  switch (c.kernel) {
    case Kernel::naive: return c.threads;
    case Kernel::rows: return std::int64_t{c.threads} / c.lanes * c.rows;
    case Kernel::block: return 1;
    case Kernel::columns: break;
  }
  const tile::ColumnBlock k = columns_of(c, e, element_bytes);
  return std::int64_t{k.groups} * k.lanes * access_elements(c, element_bytes);
}
constexpr std::int64_t tile_elements(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  switch (c.kernel) {
    case Kernel::naive: return 1;
    case Kernel::rows: return std::int64_t{c.lanes} * v * c.vectors;
    case Kernel::block: return std::int64_t{c.threads} * v * c.vectors;
    case Kernel::columns: break;
  }
  return std::int64_t{columns_of(c, e, element_bytes).depth} * c.vectors;
}

// Slices of K, and the elements of each but the last.
constexpr std::int64_t slices(const Config& c, const Extent& e, int element_bytes, int sms) {
  const std::int64_t tiles = std::max<std::int64_t>(1, ceil_div(e.k, tile_elements(c, e, element_bytes)));
  if (!c.split_k) return 1;
  const std::int64_t blocks = std::max<std::int64_t>(ceil_div(e.m, block_rows(c, e, element_bytes)), 1);
  const std::int64_t places = std::int64_t{sms} * c.blocks_per_sm;
  const std::int64_t wanted =
      c.kernel == Kernel::columns && c.waves == 1 ? tile::whole_waves(blocks, places, 0.5) : places * c.waves / blocks;
  return ceil_div(tiles, ceil_div(tiles, std::clamp<std::int64_t>(wanted, 1, tiles)));
}
constexpr std::int64_t slice_elements(const Config& c, const Extent& e, std::int64_t row_slices, int element_bytes) {
  const std::int64_t tile = tile_elements(c, e, element_bytes);
  return ceil_div(std::max<std::int64_t>(1, ceil_div(e.k, tile)), row_slices) * tile;
}

// Blocks, x by y. They loop over further rows and slices where the grid is smaller than these.
struct Grid {
  std::int64_t x = 0, y = 1;
  constexpr std::int64_t blocks() const { return x * y; }
};
constexpr Grid grid_of(const Config& c, const Extent& e, std::int64_t row_slices, int element_bytes) {
  return {std::min(ceil_div(e.m, block_rows(c, e, element_bytes)), max_grid), std::min(row_slices, max_grid_y)};
}

// Partial results are [slices, m]; a second kernel adds those of eight rows, up to 256 slices at a time.
inline constexpr int finish_threads = 256, finish_vectors = 8;
constexpr tile::ColumnBlock finish_columns(std::int64_t m, std::int64_t row_slices) {
  return tile::column_block(finish_threads, 8, m, ceil_div(row_slices, finish_vectors));
}
constexpr int launches(std::int64_t row_slices) { return row_slices > 1 ? 2 : 1; }
constexpr int partial_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }

}  // namespace ridge::gemv_detail
