// The table of transpose kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/transpose/transpose.hpp>

namespace ridge::transpose_detail {

enum class Method : std::uint8_t {
  naive,       // a thread per unit, from global to global memory
  square,      // a square of 32 x 32 units by way of shared memory, one unit per access
  tile,        // a tile by way of shared memory, a chunk of 16 bytes per access on both sides
  shifted,     // the same for rows and columns that start off 16-byte boundaries
  thin,        // 2, 3, 4 or 8 columns: in registers alone
  narrow_in,   // few columns: x is one contiguous stretch
  narrow_out,  // few rows: y is one contiguous stretch
  span,        // many small matrices: a span of them is one stretch of x and of y
  runs,        // the innermost axis stays
  copy,        // nothing moves
  strided,     // any strides, a unit per thread
};

struct Config {
  Method method = Method::tile;
  int threads = 256;
  int x_bytes = 0, y_bytes = 0;  // tile, shifted: contiguous bytes of a tile's row in x and of its column in y
  int access_bytes = 16;         // tile: of x's accesses; rows of x start and end on multiples of it
  int strip = 1;                 // tile, shifted: rows of tiles that blocks go through column by column
  int stage_bytes = 0;           // narrow, span: of x in a tile
  int accesses = 1;              // runs, copy: independent ones of each thread
  int pad = 0;                   // square: units between two rows of the tile in shared memory
  bool swizzle = false;          // square: instead, a row's units lie in an order of its own
  bool operator==(const Config&) const = default;
};

// Of the roof, at units of 1, 2, 4, 8 and 16 bytes.
struct Shares {
  double at[5];
  constexpr double operator()(int unit) const {
    int log = 0;
    while (1 << log < unit) ++log;
    return at[log];
  }
};

struct Variant {
  std::string_view name, step;
  Config config;
  Shares share;  // measured on an H200 at 1, 2 and 4 bytes (bench/results/h200/transpose.json), estimated beyond
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per element: reads are contiguous, writes a column apart",
     {.method = Method::naive}, {.03, .07, .12, .22, .40}},
    {"shared", "a tile in shared memory: writes are contiguous too; a column of the tile is one bank",
     {.method = Method::square, .threads = 1024}, {.04, .08, .13, .25, .45}, Role::lesson},
    {"padded", "a row of the tile is one element longer: a column spreads over the banks",
     {.method = Method::square, .threads = 1024, .pad = 1}, {.05, .09, .17, .30, .50}, Role::lesson},
    {"swizzled", "no padding: each row's elements lie in an order of their own",
     {.method = Method::square, .threads = 1024, .swizzle = true}, {.05, .09, .17, .30, .50}, Role::lesson},
    {"ilp", "four elements in flight per thread, a quarter of the threads",
     {.method = Method::square, .threads = 256, .pad = 1}, {.25, .46, .74, .75, .75}},
    {"tile_128", "16-byte accesses on both sides; runs of 128 bytes",
     {.x_bytes = 128, .y_bytes = 128}, {.89, .88, .74, .65, .65}},
    {"tile_wide", "runs of 256 bytes in y; neighbouring blocks share a square of x and of y",
     {.x_bytes = 128, .y_bytes = 256, .strip = 16}, {.87, .89, .90, .80, .75}},
    {"tile_256", "runs of 256 bytes on both sides",
     {.x_bytes = 256, .y_bytes = 256, .strip = 256}, {.90, .91, .96, .95, .92}},
    {"tile_512", "runs of 512 bytes on both sides",
     {.x_bytes = 512, .y_bytes = 512}, {.90, .90, .90, .92, .92}},
    {"tile_large", "512 threads, for tiles of 32 and 64 KB",
     {.threads = 512, .x_bytes = 256, .y_bytes = 256, .strip = 128}, {.95, .96, .93, .92, .92}},
    {"tile_8", "rows of x that start on 8 bytes: accesses of 8 bytes there, of 16 in y",
     {.threads = 512, .x_bytes = 256, .y_bytes = 128, .access_bytes = 8, .strip = 128}, {.90, .90, .90, .90, .90}},
    {"shifted_128", "rows start anywhere: whole aligned chunks are read and written, elements move in between",
     {.method = Method::shifted, .x_bytes = 128, .y_bytes = 128}, {.78, .78, .60, .55, .50}},
    {"shifted_wide", "runs of 256 bytes in y: fewer rows are read twice",
     {.method = Method::shifted, .x_bytes = 128, .y_bytes = 256, .strip = 128}, {.80, .83, .71, .70, .50}},
    {"shifted_256", "runs of 256 bytes on both sides",
     {.method = Method::shifted, .x_bytes = 256, .y_bytes = 256, .strip = 128}, {.50, .85, .80, .80, .50}},
    {"thin", "2, 3, 4 or 8 columns: whole rows of x in registers, no shared memory, no barrier",
     {.method = Method::thin, .threads = 128, .accesses = 2}, {.75, .85, .92, .92, .92}},
    {"narrow_in", "few columns: x is read as one stretch",
     {.method = Method::narrow_in, .stage_bytes = 16384}, {.38, .63, .77, .80, .80}},
    {"narrow_in_4k", "small tiles, for inputs of a few megabytes",
     {.method = Method::narrow_in, .stage_bytes = 4096}, {.38, .50, .62, .70, .70}},
    {"narrow_out", "few rows: y is written as one stretch",
     {.method = Method::narrow_out, .stage_bytes = 16384}, {.30, .55, .83, .83, .83}},
    {"narrow_out_4k", "small tiles, for inputs of a few megabytes",
     {.method = Method::narrow_out, .stage_bytes = 4096}, {.36, .50, .58, .70, .70}},
    {"span", "many small matrices: a block's are one stretch of x and of y",
     {.method = Method::span, .stage_bytes = 16384}, {.70, .85, .92, .92, .92}},
    {"span_4k", "small blocks, of matrices up to 4 KB",
     {.method = Method::span, .threads = 128, .stage_bytes = 4096}, {.72, .88, .95, .95, .95}},
    {"runs", "the last axis stays: runs move by units of up to 16 bytes",
     {.method = Method::runs, .accesses = 4}, {.12, .25, .50, .80, .90}},
    {"copy", "no axis moves: 16-byte accesses",
     {.method = Method::copy, .accesses = 1}, {.98, .98, .98, .98, .98}},
    {"strided", "any strides: an offset per element",
     {.method = Method::strided}, {.07, .14, .25, .40, .50}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr int per_chunk(int unit) { return chunk_bytes / unit; }

inline constexpr int square_side = 32;

// ---- tile, shifted ----------------------------------------------------------------------------------------------
constexpr int tile_rows(Config c, int unit) { return c.y_bytes / unit; }
constexpr int tile_cols(Config c, int unit) { return c.x_bytes / unit; }
constexpr int tile_bytes(Config c, int unit) { return tile_rows(c, unit) * c.x_bytes; }

// Whether a tile of these units keeps every thread busy and leaves room for other blocks: the instances there are.
constexpr bool has_tile(Config c, int unit) {
  const int most_bytes = 128 * c.threads;  // eight accesses of a thread
  const int least_bytes = (c.threads > 256 ? 4 : 1) * c.threads * chunk_bytes;
  const bool whole = tile_bytes(c, unit) >= least_bytes && tile_bytes(c, unit) <= most_bytes;
  return whole && (c.method == Method::tile ? unit <= c.access_bytes : unit < chunk_bytes);  // no unit is parted
}

// A shifted tile in shared memory: each row has one chunk more than the tile is wide, as its first may begin before
// the tile. Behind as many rows as a chunk has units lies an empty chunk, so that chunks of one column and of rows so
// far apart, which one warp reads at a time, are in different banks. A column's first chunk may begin before the tile
// as well, so up to a chunk of rows above the tile is there too.
constexpr int shifted_chunks(Config c) { return c.x_bytes / chunk_bytes + 1; }  // of a row
constexpr int shifted_chunk(Config c, int unit, int row, int chunk) {
  return row * shifted_chunks(c) + row / per_chunk(unit) + chunk;
}

// Units of less than a word are turned by words: a column's chunks are put together of two that were turned, and the
// first V rows of a tile are its predecessor's last.
RIDGE_HD constexpr bool turns(int unit) { return unit < 4; }

// ---- thin -------------------------------------------------------------------------------------------------------
inline constexpr int thin_lanes = 32;  // that hand chunks to one another
constexpr bool is_thin(std::int64_t width) { return width == 2 || width == 3 || width == 4 || width == 8; }
// Of four columns, four lanes exchange what they have.
RIDGE_HD constexpr bool is_quads(int unit, std::int64_t width) { return width == 4 && unit <= 4; }
// Groups of as many rows as a chunk has units, that a block has. Else than by fours, of shifted columns the first lane
// of 32 is there for the second.
RIDGE_HD constexpr int thin_groups(Config c, int unit, std::int64_t width, bool shifted) {
  const int warps = c.threads / thin_lanes;
  return warps * (is_quads(unit, width) ? thin_lanes / 4 * c.accesses : thin_lanes - shifted);
}

// ---- narrow -----------------------------------------------------------------------------------------------------
// The rows of x (columns, where y is the contiguous side) of a tile, such that y's (x's) runs are whole chunks; eight
// chunks, a whole line, where the stage has room for that.
constexpr int narrow_length(Config c, int unit, std::int64_t width) {
  const int line = (c.method == Method::narrow_in ? 8 : 1) * per_chunk(unit);
  return static_cast<int>(c.stage_bytes / (width * unit) / line * line);
}
// The widest matrix of which a stage holds eight chunks per column.
constexpr std::int64_t narrow_width(Config c) { return c.stage_bytes / (8 * chunk_bytes); }
// Chunks of one row of x in narrow_out's stage: its ends may be shared with its neighbours. Odd, for the banks.
constexpr int narrow_pitch(Config c, int unit, std::int64_t width) {
  return (narrow_length(c, unit, width) / per_chunk(unit) + 2) | 1;
}

// ---- span -------------------------------------------------------------------------------------------------------
// Matrices of a tile: such that tiles are whole chunks, where that many have room.
constexpr std::int64_t span_matrices(Config c, const Form& f) {
  const std::int64_t bytes = f.rows * f.cols * f.unit, room = c.stage_bytes / bytes;
  std::int64_t whole = 1;
  while (whole * bytes % chunk_bytes != 0) whole *= 2;
  return room >= whole ? room / whole * whole : room;
}
// How many chunks lie between two that hold the same units of their matrices.
constexpr std::int64_t span_period(const Form& f) {
  std::int64_t bytes = f.rows * f.cols * f.unit;
  while (bytes % chunk_bytes != 0) bytes *= 2;
  return bytes / chunk_bytes;
}
// Where a staged unit lies: its chunk's place among eight is changed by three higher digits of the chunk's number,
// `spread` digits further up, so that those that a warp gathers are in different banks.
RIDGE_HD constexpr int span_place(int unit, int chunk_units, int spread) {
  return unit ^ (unit >> spread & 7 * chunk_units);
}

// Whether a row's kernel may begin while the one before it ends, and lets the next one begin so (tile/overlap.cuh):
// those that are sooner by it, on an H200. Blocks that begin early crowd on the multiprocessors that are free then,
// which costs bytes in `span`, whose blocks are the longest, more than the launch.
RIDGE_HD constexpr bool overlaps(Config c, int unit) {
  constexpr int unasked = 48 * 1024;  // bytes of shared memory
  if (c.method == Method::span) return unit > 1;
  return c.method == Method::thin || (c.method == Method::tile && tile_bytes(c, unit) <= unasked);
}

// ---- all --------------------------------------------------------------------------------------------------------
constexpr int smem_bytes(Config c, int unit) {              // dynamic
  const int above = turns(unit) ? 0 : per_chunk(unit) - 1;  // rows above the tile that its first chunks may reach into
  switch (c.method) {
    case Method::square: return square_side * (square_side + c.pad) * unit;
    case Method::tile: return tile_bytes(c, unit);
    case Method::shifted: return shifted_chunk(c, unit, tile_rows(c, unit) + above, 0) * chunk_bytes;
    // A chunk's worth of rows above, the chunks at both ends, and the swizzle's groups of eight.
    case Method::narrow_in: return c.stage_bytes + c.stage_bytes / 8 + 8 * chunk_bytes;
    case Method::narrow_out: return c.stage_bytes + static_cast<int>(narrow_width(c)) * 3 * chunk_bytes;
    case Method::span:
      return c.stage_bytes + 8 * chunk_bytes;  // a chunk for the shift, and the spread's groups of eight
    default: return 0;
  }
}

// Whether 16-byte chunks of y begin elsewhere than its columns do: then a tile's chunks reach into the rows above it.
RIDGE_HD constexpr bool y_shifted(const Form& f) {
  bool shifted = f.phase_y != 0 || f.pitch_y * f.unit % chunk_bytes != 0;
  for (int axis = 0; axis < f.outer.rank; ++axis) shifted = shifted || f.outer.y[axis] * f.unit % chunk_bytes != 0;
  return shifted;
}

// The tiles of one matrix; of the other methods, the blocks in `across`.
struct Tiles {
  std::int64_t down = 1, across = 1, matrices = 1;
  constexpr std::int64_t count() const { return down * across * matrices; }
};
constexpr Tiles tiles_of(Config c, const Form& f) {
  Tiles t{.matrices = f.outer.count()};
  const std::int64_t above = y_shifted(f) ? per_chunk(f.unit) - 1 : 0;  // units; the last chunk begins as much earlier
  switch (c.method) {
    case Method::naive:
      t.down = ceil_div(f.rows, c.threads / square_side);
      t.across = ceil_div(f.cols, square_side);
      return t;
    case Method::square:
      t.down = ceil_div(f.rows, square_side);
      t.across = ceil_div(f.cols, square_side);
      return t;
    case Method::tile:
      t.down = ceil_div(f.rows, tile_rows(c, f.unit));
      t.across = ceil_div(f.cols, tile_cols(c, f.unit));
      return t;
    case Method::shifted:
      t.down = ceil_div(f.rows + above, tile_rows(c, f.unit) - (above > 0 && turns(f.unit) ? per_chunk(f.unit) : 0));
      t.across = ceil_div(f.cols, tile_cols(c, f.unit));
      return t;
    case Method::thin:  // the first for the rows that are no whole chunks
      t.down = 1 + ceil_div(f.rows / per_chunk(f.unit), thin_groups(c, f.unit, f.cols, y_shifted(f)));
      return t;
    case Method::narrow_in: t.down = ceil_div(f.rows + above, narrow_length(c, f.unit, f.cols)); return t;
    case Method::narrow_out:
      t.across = ceil_div(f.rows * f.cols + above, f.rows * narrow_length(c, f.unit, f.rows));
      return t;
    case Method::span: return {.across = ceil_div(f.outer.count(), span_matrices(c, f))};
    case Method::copy: return {.across = ceil_div(ceil_div(f.count(), per_chunk(f.unit)), c.threads * c.accesses)};
    case Method::runs:
    case Method::strided: return {.across = ceil_div(f.count(), c.threads * c.accesses)};
  }
  return t;
}

}  // namespace ridge::transpose_detail
