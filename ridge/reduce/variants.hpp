// The table of reduction kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/reduce/reduce.hpp>
#include <ridge/tile/columns.hpp>
#include <ridge/tile/last_block.hpp>
#include <ridge/tile/row_span.hpp>

#include <algorithm>

namespace ridge::reduce_detail {

enum class Kernel : std::uint8_t {
  atomic,            // y itself is the accumulator
  tree_interleaved,  // in shared memory: neighbours first, so that the active threads lie ever farther apart
  tree_sequential,   // in shared memory: halves first, so that the active threads stay neighbours
  shuffle,           // within a warp by registers, across warps by shared memory
  slices,            // a block folds a slice of a row; partial results in workspace, or none if a row is one slice
  rows,              // some lanes of a warp fold a whole row
  spans,             // a thread or some fold a whole row of those that their block brought to shared memory
  columns,           // neighbouring lanes fold neighbouring rows, which lie side by side as columns do; any strides
  shifted,           // the same at any pitch: lanes have 16 bytes of neighbouring columns, wherever a row starts
  cluster,           // a cluster of Hopper's blocks folds the one row there is; any strides
};

// How many slices a row is cut into.
enum class Cut : std::uint8_t { whole, tiles, fill };  // 1; one per tile; as many as fill the chip `waves` times

struct Config {
  Kernel kernel = Kernel::slices;
  int threads = 256;
  int lanes = 0;         // Kernel::rows: lanes of a row
  int access_bytes = 0;  // 0: one element at a time
  int vectors = 1;  // independent accesses of each thread before the first use; Kernel::columns: of 4 bytes or more
  Cut cut = Cut::whole;
  int blocks_per_sm = 4;    // that a multiprocessor holds at least: bounds the registers of a thread
  int waves = 1;            // Cut::fill
  bool strided = false;     // Kernel::columns: an offset per element
  bool last_block = false;  // Kernel::slices of one row: the last block to arrive finishes, in the same launch
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// The first five are the textbook's steps. Shares: see README.md.
inline constexpr Variant variants[] = {
    {"atomic", "one atomic per element", {.kernel = Kernel::atomic}, Role::lesson},
    {"tree_interleaved",
     "a tree in shared memory, neighbours first",
     {.kernel = Kernel::tree_interleaved, .cut = Cut::tiles},
     Role::lesson},
    {"tree_sequential",
     "halves first: whole warps retire",
     {.kernel = Kernel::tree_sequential, .cut = Cut::tiles},
     Role::lesson},
    {"warp_shuffle",
     "registers within a warp: one barrier instead of eight",
     {.kernel = Kernel::shuffle, .cut = Cut::tiles},
     Role::lesson},
    {"vec4",
     "16-byte accesses: a quarter of the loads and of the blocks",
     {.access_bytes = 16, .cut = Cut::tiles},
     Role::lesson},
    {"scalar", "dot of inputs that no 16-byte access can meet", {.vectors = 4, .cut = Cut::fill}, Role::fallback},
    {"best",
     "four accesses in flight, enough slices that multiprocessors finish together",
     {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .waves = 32}},
    {"one_wave",
     "as many blocks as the chip holds: few partial results, where reading them shows beside reading x",
     {.access_bytes = 16, .vectors = 4, .cut = Cut::fill}},
    {"last_block",
     "the last block to arrive adds what all have found: one launch, however much there is to read",
     {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .last_block = true},
     Role::lesson},
    {"one_block",
     "the whole row to one block of 1,024 threads: one launch, where there is little to read",
     {.threads = 1024, .access_bytes = 16, .vectors = 4, .blocks_per_sm = 1}},
    {"row_span",
     "rows of up to 4 KB: a block brings its rows as one span, then a thread, or a few, have a row",
     {.kernel = Kernel::spans, .threads = 128, .access_bytes = 16, .blocks_per_sm = 8}},
    {"row_lanes", "eight lanes per row", {.kernel = Kernel::rows, .lanes = 8, .access_bytes = 16, .vectors = 4}},
    {"row_warp", "32 lanes per row", {.kernel = Kernel::rows, .lanes = 32, .access_bytes = 16, .vectors = 4}},
    {"row_block", "a block per row", {.access_bytes = 16, .vectors = 4}},
    {"row_split",
     "several blocks per row, where rows are too few to fill the chip",
     {.access_bytes = 16, .vectors = 4, .cut = Cut::fill, .waves = 4}},
    {"columns",
     "16 bytes of neighbouring columns per thread: axes other than the last",
     {.kernel = Kernel::columns, .access_bytes = 16, .vectors = 4, .cut = Cut::fill}},
    {"columns_shifted",
     "columns at any pitch: a thread's rows are so far apart that each starts equally far from a boundary",
     {.kernel = Kernel::shifted, .threads = 512, .access_bytes = 16, .vectors = 4, .cut = Cut::fill},
     Role::fallback},
    {"strided",
     "any strides: an offset per element",
     {.kernel = Kernel::columns,
      .threads = 512,
      .vectors = 16,
      .cut = Cut::fill,
      .blocks_per_sm = 2,
      .waves = 8,
      .strided = true},
     Role::fallback},
    {"strided_once",
     "the same in one launch, where there is little to read",
     {.kernel = Kernel::columns, .threads = 512, .vectors = 16, .blocks_per_sm = 2, .strided = true},
     Role::fallback},
    {"cluster",
     "eight blocks meet in shared memory: one launch, and eight multiprocessors' loads",
     {.kernel = Kernel::cluster, .threads = 512, .vectors = 16, .blocks_per_sm = 2, .strided = true}},
};
// A step that teaches and is measured; no plan chooses it.
constexpr bool is_textbook(const Config& c) { return c.cut == Cut::tiles || c.kernel == Kernel::atomic; }

inline constexpr int variant_count = static_cast<int>(std::size(variants));

// A row of the table for a function: of two inputs, each has half of the accesses; where indices travel with values, a
// block's reduction is long, and fewer blocks do better, and by columns indices take the registers of half of the
// accesses (one element each) or of half of the blocks.
constexpr Config config_of(int variant, Reduce f) {
  Config c = variants[variant].config;
  const bool arg = f == Reduce::argmax || f == Reduce::argmin;
  if (arg && c.waves > 8) c.waves = 8;
  const bool indices = arg && (c.kernel == Kernel::columns || c.kernel == Kernel::cluster);
  if (indices && !c.strided) c.blocks_per_sm /= 2;
  if ((arity(f) == 2 || (indices && c.strided)) && c.vectors > 1) c.vectors /= 2;
  return c;
}
inline constexpr int cluster_blocks = 8;  // as many as every device with clusters takes
inline constexpr int cluster_variant = variant_count - 1;
static_assert(variants[cluster_variant].config.kernel == Kernel::cluster);

// ---- geometry ----------------------------------------------------------------------------------------------------

constexpr int access_elements(const Config& c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}
// Accesses that a thread of Kernel::columns has under way: no more than registers hold. A byte has one to itself, and
// the instructions that widen it another.
constexpr int column_vectors(int vectors, int element_bytes) {
  return element_bytes == 8 || element_bytes == 1 ? vectors / 2 : vectors;
}

// The threads of a block of Kernel::columns. A lane has as many neighbouring rows as one access has elements.
constexpr tile::ColumnBlock columns_of(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  const int most_lanes = v > 1 ? tile::column_lanes(ceil_div(e.rows, v)) : 128;  // 128: 512 bytes of float
  return tile::column_block(c.threads, most_lanes, ceil_div(e.inner, v),
                            ceil_div(e.cols, column_vectors(c.vectors, element_bytes)));
}

// Kernel::shifted: the threads of a block are [levels, lanes], and it reads one access more across than it has columns.
// Wide blocks waste less by that, where columns are enough for them.
constexpr int shifted_lanes(const Extent& e, int access_elements) {
  constexpr int wide = 64, narrow = 32, enough_blocks = 16;
  return e.inner >= std::int64_t{enough_blocks} * wide * access_elements ? wide : narrow;
}
// 16 bytes of a 16-bit type are twice as many sums to a thread: they take the registers of one block.
constexpr int shifted_blocks_per_sm(int blocks_per_sm, int element_bytes) {
  return blocks_per_sm - (element_bytes == 2 ? 1 : 0);
}
// Bytes of dynamic shared memory: what each thread gathered, and V more for each level, as they are shifted.
template <class Partial, int V> constexpr std::size_t shifted_scratch(int threads, int lanes) {
  return static_cast<std::size_t>(threads / lanes) * static_cast<std::size_t>(lanes + 1) * V * sizeof(Partial);
}

// Whether partial results are [slices, rows], for the kernel that finishes columns.
constexpr bool has_columns(const Config& c) { return c.kernel == Kernel::columns || c.kernel == Kernel::shifted; }

// Kernel::spans. Rows of up to span_short_bytes are gone through element by element, longer ones by words.
inline constexpr std::int64_t span_short_bytes = 32, span_most_bytes = 4096;
// Threads that share a row: 256 bytes of it to each, and of few rows less, so that multiprocessors have several blocks.
constexpr int span_lanes(const Config& c, const Extent& e, int element_bytes) {
  constexpr std::int64_t of_thread = 256, least = 32, blocks = 512, most = 32;
  const std::int64_t bytes = e.cols * element_bytes;
  std::int64_t lanes = 1;
  while (lanes < most && (bytes > of_thread * lanes || (bytes > least * lanes && e.rows * lanes < blocks * c.threads)))
    lanes *= 2;
  return static_cast<int>(lanes);
}
// Rows that a block brings: 8 to 16 KB, or a row of each group of lanes, which may be 32 KB.
constexpr int span_rows(const Config& c, const Extent& e, int element_bytes) {
  constexpr std::int64_t blocks = 1024;
  const std::int64_t row = e.cols * element_bytes, bytes = row > span_short_bytes ? 16384 : 8192;
  return tile::span_rows(c.threads / span_lanes(c, e, element_bytes), e.rows, row, bytes, blocks);
}

// Threads that share a row (or a slice of it), and rows that such threads have at a time.
constexpr int row_threads(const Config& c, const Extent& e, int element_bytes) {
  if (c.kernel == Kernel::columns) return columns_of(c, e, element_bytes).depth;
  if (c.kernel == Kernel::shifted) return c.threads / shifted_lanes(e, access_elements(c, element_bytes));
  if (c.kernel == Kernel::cluster) return c.threads * cluster_blocks;
  if (c.kernel == Kernel::spans) return span_lanes(c, e, element_bytes);
  return c.kernel == Kernel::rows ? c.lanes : c.threads;
}
constexpr std::int64_t block_rows(const Config& c, const Extent& e, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  if (c.kernel == Kernel::rows) return c.threads / c.lanes;
  if (c.kernel == Kernel::spans) return span_rows(c, e, element_bytes);
  if (c.kernel == Kernel::shifted) return std::int64_t{shifted_lanes(e, v) - 1} * v;
  if (c.kernel != Kernel::columns) return 1;
  const tile::ColumnBlock k = columns_of(c, e, element_bytes);
  return std::int64_t{k.groups} * k.lanes * v;
}
// Blocks for all rows. Those of Kernel::shifted have columns of one matrix each.
constexpr std::int64_t row_blocks(const Config& c, const Extent& e, int element_bytes) {
  const std::int64_t at_a_time = block_rows(c, e, element_bytes);
  if (c.kernel != Kernel::shifted || e.inner == 0) return ceil_div(e.rows, at_a_time);
  return e.rows / e.inner * ceil_div(e.inner, at_a_time);
}
// Whether a thread's accesses have one element of a row each.
constexpr bool by_elements(const Config& c) { return has_columns(c) || c.kernel == Kernel::cluster; }
// Elements of a row that one access has.
constexpr int row_elements(const Config& c, int element_bytes) {
  return by_elements(c) ? 1 : access_elements(c, element_bytes);
}
// Elements of a row that its threads read at a time.
constexpr std::int64_t tile_elements(const Config& c, const Extent& e, int element_bytes) {
  const int vectors = by_elements(c) ? column_vectors(c.vectors, element_bytes) : c.vectors;
  return std::int64_t{row_threads(c, e, element_bytes)} * vectors * row_elements(c, element_bytes);
}

// A thread adds at most this many elements onto one accumulator: it bounds the error of float sums.
inline constexpr std::int64_t longest_chain = 1024;
constexpr std::int64_t longest_slice(const Config& c, const Extent& e, int element_bytes) {
  return longest_chain * row_threads(c, e, element_bytes) * row_elements(c, element_bytes);
}

// Of a row that starts on an access; one that starts amid an access may have one more, which is the last slice's.
constexpr std::int64_t row_tiles(const Config& c, const Extent& e, int element_bytes) {
  return std::max<std::int64_t>(1, ceil_div(e.cols, tile_elements(c, e, element_bytes)));
}

constexpr std::int64_t slices(const Config& c, const Extent& e, int element_bytes, int sms) {
  const std::int64_t tiles = row_tiles(c, e, element_bytes);
  if (c.cut == Cut::whole) return 1;
  if (c.cut == Cut::tiles) return tiles;
  const std::int64_t blocks = std::max<std::int64_t>(row_blocks(c, e, element_bytes), 1);
  const std::int64_t places =
      std::int64_t{sms} *
      (c.kernel == Kernel::shifted ? shifted_blocks_per_sm(c.blocks_per_sm, element_bytes) : c.blocks_per_sm);
  std::int64_t wanted = places * c.waves / blocks;
  if (c.kernel == Kernel::columns && c.waves == 1) wanted = tile::whole_waves(blocks, places, 0.5);
  if (c.kernel == Kernel::shifted) {
    // Two waves (to the nearest), but slices no shorter than 16 turns of a block's loop unless half the chip were idle.
    constexpr std::int64_t shortest = 16;
    wanted = std::min((4 * places + blocks) / (2 * blocks), std::max(tiles / shortest, places / (2 * blocks)));
  }
  const std::int64_t accurate = ceil_div(e.cols, longest_slice(c, e, element_bytes));
  const std::int64_t count = std::clamp<std::int64_t>(std::max(wanted, accurate), 1, tiles);
  return ceil_div(tiles, ceil_div(tiles, count));  // none without tiles
}
// Tiles of a slice; of the last one fewer, or one more.
constexpr std::int64_t slice_tiles(const Config& c, const Extent& e, std::int64_t row_slices, int element_bytes) {
  return ceil_div(row_tiles(c, e, element_bytes), row_slices);
}

// Blocks of the first kernel, x by y. They go on to further rows and slices where the grid is shorter than those.
struct Grid {
  std::int64_t x = 0, y = 1;
  constexpr std::int64_t blocks() const { return x * y; }
};
constexpr Grid grid_of(const Config& c, const Extent& e, std::int64_t row_slices, int element_bytes) {
  if (c.kernel == Kernel::atomic) return {ceil_div(e.cols, c.threads)};  // one element per thread
  if (is_textbook(c) && c.kernel != Kernel::slices) return {row_slices};
  if (c.kernel == Kernel::cluster) return {cluster_blocks};
  return {std::min(row_blocks(c, e, element_bytes), max_grid), std::min(row_slices, max_grid_y)};
}

// ---- the finish: partial results of a row, a chunk to a block and pass, until one is left ------------------------

inline constexpr int finish_threads = 1024;  // at most
inline constexpr int finish_vectors = 8;     // independent loads of each thread before the first use
// One block, and one launch, for what fills any chip (132 multiprocessors x 4 blocks x 32 waves: 16,896 slices); of
// more (the textbook's 2^20 blocks), each block takes what its threads have under way at once.
constexpr std::int64_t finish_chunk(std::int64_t row_slices) {
  return row_slices <= 32768 ? 32768 : finish_threads * finish_vectors;
}

// Partial results of has_columns() are [slices, rows], and one pass of a kernel shaped as `columns` finishes them.
inline constexpr Config column_finish{.kernel = Kernel::columns, .threads = 256, .vectors = 8, .strided = true};
inline constexpr std::int64_t column_finish_lanes =
    8;  // 32 bytes of float side by side: narrow, so that many blocks share the work
constexpr tile::ColumnBlock finish_columns(std::int64_t rows, std::int64_t row_slices) {
  return columns_of(column_finish, {rows, row_slices, std::min(rows, column_finish_lanes)}, 4);
}

// Threads of a block of the finish: few where they do, as a small block is through sooner.
constexpr int finish_block(std::int64_t row_slices) {
  return row_slices <= 128 * finish_vectors ? 128 : finish_threads;
}

// Whether there are partial results at all: the textbook's kernels always leave them.
constexpr bool has_partials(const Config& c, std::int64_t row_slices) {
  return c.kernel != Kernel::atomic && c.kernel != Kernel::rows &&
         ((is_textbook(c) && c.kernel != Kernel::slices) || row_slices > 1);
}
constexpr int finish_passes(const Config& c, std::int64_t row_slices) {
  int passes = 1;
  if (has_columns(c) || c.last_block) return passes;
  for (; row_slices > finish_chunk(row_slices); row_slices = ceil_div(row_slices, finish_chunk(row_slices))) ++passes;
  return passes;
}
constexpr int launches(const Config& c, std::int64_t row_slices) {
  if (c.kernel == Kernel::atomic) return 2;  // y is set first
  return 1 + (has_partials(c, row_slices) && !c.last_block ? finish_passes(c, row_slices) : 0);
}
// Partial results of all passes together.
constexpr std::int64_t partial_count(const Config& c, std::int64_t rows, std::int64_t row_slices) {
  if (!has_partials(c, row_slices)) return 0;
  std::int64_t count = row_slices;
  if (has_columns(c) || c.last_block) return rows * count;
  for (; row_slices > finish_chunk(row_slices); count += row_slices)
    row_slices = ceil_div(row_slices, finish_chunk(row_slices));
  return rows * count;
}

// Bytes of the workspace before the partial results: the word of the blocks' arrivals,
// and what keeps these on 16 bytes.
constexpr std::size_t arrival_bytes(const Config& c, std::int64_t row_slices) {
  return c.last_block && has_partials(c, row_slices) ? 16 : 0;
}

// Bytes of one partial result; the kernels assert that it is so.
constexpr int partial_bytes(Reduce f, DType dtype, Accumulate accumulate) {
  if (accumulate == Accumulate::two_float) return 8;
  if (f == Reduce::argmax || f == Reduce::argmin) return 16;  // a value and a tile
  if (f == Reduce::max || f == Reduce::min) return static_cast<int>(size_of(dtype));
  if (f == Reduce::mean && (dtype == DType::i32 || dtype == DType::i64)) return 16;  // a sum of 128 bits
  return is_floating(dtype) && dtype != DType::f64 ? 4 : 8;
}

// ---- accuracy ----------------------------------------------------------------------------------------------------

// The most additions between an element and the result, so that the error of a float sum is at most this, times the
// unit roundoff, times the sum of |x|. From the order in which the kernels add; warp: 32 (64 adds one).
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t row_slices, int element_bytes) {
  const auto log2 = [](std::int64_t n) {
    int log = 0;
    for (; n > 1; n = (n + 1) / 2) ++log;
    return log;
  };
  const auto block = [&](std::int64_t threads) {
    return log2(32) + threads / 32;
  };  // tree in the warp, then warp by warp
  if (c.kernel == Kernel::atomic || c.kernel == Kernel::spans) return e.cols;
  if (has_columns(c)) {  // levels meet as a tree, or one by one
    const tile::ColumnBlock finish = finish_columns(e.rows, row_slices);
    const int levels = row_threads(c, e, element_bytes);
    const std::int64_t depth = slice_tiles(c, e, row_slices, element_bytes) * column_vectors(c.vectors, element_bytes) +
                               (c.kernel == Kernel::shifted ? levels : log2(levels));
    return depth + (row_slices > 1 ? ceil_div(row_slices, finish.depth) + log2(finish.depth) : 0);
  }
  if (c.kernel == Kernel::cluster)
    return row_tiles(c, e, element_bytes) * column_vectors(c.vectors, element_bytes) + block(c.threads) +
           cluster_blocks;
  const int v = access_elements(c, element_bytes);
  const std::int64_t tiles = slice_tiles(c, e, row_slices, element_bytes) + (v > 1);  // a row may start amid an access
  std::int64_t depth = tiles * c.vectors + log2(v) + (v > 1 ? 2 : 0);                 // 2: the row's edges
  depth += c.kernel == Kernel::rows ? log2(c.lanes) : block(c.threads);
  if (c.last_block) return depth + ceil_div(row_slices, c.threads) + block(c.threads);
  if (has_partials(c, row_slices))
    for (;; row_slices = ceil_div(row_slices, finish_chunk(row_slices))) {
      const int threads = finish_block(row_slices);
      depth += ceil_div(std::min(row_slices, finish_chunk(row_slices)), threads) + block(threads);
      if (row_slices <= finish_chunk(row_slices)) break;
    }
  return depth;
}

// ---- what is instantiated ----------------------------------------------------------------------------------------

// The textbook's steps are for few; the others are for everything that the contract names.
constexpr bool is_short_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}
constexpr bool instantiated(const Config& c, Reduce f, DType dtype, Accumulate accumulate) {
  if (accumulate == Accumulate::two_float && is_textbook(c)) return false;
  if (f == Reduce::mean && c.kernel == Kernel::atomic) return false;  // nothing would divide
  if (f == Reduce::mean || f == Reduce::trace) f = Reduce::sum;       // whose kernels serve all three
  const bool arg = f == Reduce::argmax || f == Reduce::argmin, simple = dtype == DType::f32 || dtype == DType::i32;
  if (c.kernel == Kernel::cluster) return true;
  if (c.kernel == Kernel::spans) return f != Reduce::dot;  // whose result is one
  if (c.last_block) return f == Reduce::sum && is_short_float(dtype) && accumulate == Accumulate::plain;
  const bool scalar = c.kernel == Kernel::slices && c.cut == Cut::fill && c.access_bytes == 0;
  if (c.kernel == Kernel::slices && c.threads == 1024)
    return (f == Reduce::sum || f == Reduce::dot) && is_short_float(dtype);
  if (c.kernel == Kernel::shifted) return f == Reduce::sum && is_short_float(dtype) && accumulate == Accumulate::plain;
  if (f == Reduce::dot)
    return (c.kernel == Kernel::slices && (!is_textbook(c) || simple)) || (c.kernel == Kernel::columns && c.strided);
  if (scalar) return false;
  // Columns of other types are read one by one.
  if (c.kernel == Kernel::columns) return c.strided || is_short_float(dtype);
  // Many short rows of other types are left to a warp each.
  if (c.lanes == 8) return is_short_float(dtype);
  if (c.kernel == Kernel::atomic)  // what one atomic instruction does
    return (f == Reduce::sum && simple) || ((f == Reduce::max || f == Reduce::min) && dtype == DType::i32);
  return !is_textbook(c) || (simple && !arg);
}

// ---- offsets -----------------------------------------------------------------------------------------------------

// 64-bit division is an order of magnitude slower than 32-bit.
RIDGE_HD constexpr std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

// Where element `index` of the axes [first, last), counted in row-major order, lies; stride is one of axes' arrays.
RIDGE_HD constexpr std::int64_t offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank], int first,
                                       int last, std::int64_t index) {
  std::int64_t at = 0;
#pragma unroll 1  // divisions are long, and most problems need none
  for (int axis = last - 1; axis > first; --axis) {
    const std::int64_t rest = quotient(index, axes.shape[axis]);
    at += (index - rest * axes.shape[axis]) * stride[axis];
    index = rest;
  }
  return first < last ? at + index * stride[first] : 0;
}
RIDGE_HD constexpr std::int64_t row_offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank],
                                           std::int64_t row) {
  return offset(axes, stride, 0, axes.outer, row);
}
RIDGE_HD constexpr std::int64_t col_offset(const ReduceAxes& axes, const std::int64_t (&stride)[max_rank],
                                           std::int64_t col) {
  return offset(axes, stride, axes.outer, axes.rank, col);
}

}  // namespace ridge::reduce_detail
