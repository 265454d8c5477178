// The table of transpose kernels. A row's family says what its kernel needs, accepts and costs, in the header beside
// its .cuh: textbook, tile, shifted, thin, narrow, span, runs, copy, strided.
#pragma once
#include <ridge/transpose/transpose.hpp>

#include <iterator>
#include <string_view>

namespace ridge::transpose_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,       // textbook: a thread per unit, from global to global memory
  square,      // textbook: a 32 x 32 square of units through shared memory, one unit per access
  tile,        // a tile through shared memory, a 16-byte chunk per access on both sides
  shifted,     // the same for rows and columns that do not start on 16-byte boundaries
  thin,        // 2, 3, 4 or 8 columns: in registers alone
  narrow_in,   // narrow: few columns, x is one contiguous range
  narrow_out,  // narrow: few rows, y is one contiguous range
  span,        // many small matrices: a span of them is contiguous in x and in y
  runs,        // the innermost axis stays
  copy,        // nothing moves
  strided,     // any strides, a unit per thread
};
inline constexpr int algorithm_count = 11;

struct Config {
  Algorithm algorithm = Algorithm::tile;
  int threads = 256;
  int x_bytes = 0, y_bytes = 0;  // tile, shifted: contiguous bytes of a tile's row in x and of its column in y
  int access_bytes = 16;         // tile: of x's accesses; rows of x start and end on multiples of it
  int strip = 1;                 // tile, shifted: rasterization group: rows of tiles that blocks walk column by column
  int stage_bytes = 0;           // narrow, span: bytes of x in a tile
  int accesses = 1;              // runs, thin: independent accesses of each thread
  int pad = 0;                   // square: units between two rows of the tile in shared memory
  bool swizzle = false;          // square: instead, units of a row are permuted by XOR
  bool operator==(const Config&) const = default;
};

// Shares of the roof at units of 1, 2, 4, 8 and 16 bytes.
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
  Shares share;  // measured on an H200 at 1, 2 and 4 bytes (bench/results/h200/transpose.json), estimated at 8 and 16
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per element: reads are contiguous, writes a column apart",
     {.algorithm = Algorithm::naive}, {.03, .07, .12, .22, .40}},
    {"shared", "a tile in shared memory: writes are contiguous too; a column of the tile is one bank",
     {.algorithm = Algorithm::square, .threads = 1024}, {.04, .08, .13, .25, .45}, Role::lesson},
    {"padded", "a row of the tile is one element longer: a column spreads over the banks",
     {.algorithm = Algorithm::square, .threads = 1024, .pad = 1}, {.05, .09, .17, .30, .50}, Role::lesson},
    {"swizzled", "no padding: an XOR swizzle spreads a column over the banks",
     {.algorithm = Algorithm::square, .threads = 1024, .swizzle = true}, {.05, .09, .17, .30, .50}, Role::lesson},
    {"ilp", "four elements in flight per thread, a quarter of the threads",
     {.algorithm = Algorithm::square, .threads = 256, .pad = 1}, {.25, .46, .74, .75, .75}},
    {"tile_128", "16-byte accesses on both sides; runs of 128 bytes",
     {.x_bytes = 128, .y_bytes = 128}, {.89, .88, .74, .65, .65}},
    {"tile_wide", "runs of 256 bytes in y; neighbouring blocks share a square of x and of y",
     {.x_bytes = 128, .y_bytes = 256, .strip = 16}, {.87, .89, .90, .80, .75}},
    {"tile_256", "runs of 256 bytes on both sides",
     {.x_bytes = 256, .y_bytes = 256, .strip = 256}, {.90, .91, .96, .95, .92}},
    {"tile_large", "512 threads, for tiles of 32 and 64 KB",
     {.threads = 512, .x_bytes = 256, .y_bytes = 256, .strip = 128}, {.95, .96, .93, .92, .92}},
    {"tile_8", "rows of x that start on 8 bytes: accesses of 8 bytes there, of 16 in y",
     {.threads = 512, .x_bytes = 256, .y_bytes = 128, .access_bytes = 8, .strip = 128}, {.90, .90, .90, .90, .90}},
    {"shifted_128", "rows start anywhere: whole aligned chunks are read and written, elements move in between",
     {.algorithm = Algorithm::shifted, .x_bytes = 128, .y_bytes = 128}, {.78, .78, .60, .55, .50}},
    {"shifted_wide", "runs of 256 bytes in y: fewer rows are read twice",
     {.algorithm = Algorithm::shifted, .x_bytes = 128, .y_bytes = 256, .strip = 128}, {.80, .83, .71, .70, .50}},
    {"shifted_256", "runs of 256 bytes on both sides",
     {.algorithm = Algorithm::shifted, .x_bytes = 256, .y_bytes = 256, .strip = 128}, {.50, .85, .80, .80, .50}},
    {"thin", "2, 3, 4 or 8 columns: whole rows of x in registers, no shared memory, no barrier",
     {.algorithm = Algorithm::thin, .threads = 128, .accesses = 2}, {.75, .85, .92, .92, .92}},
    {"narrow_in", "few columns: x is read as one contiguous range",
     {.algorithm = Algorithm::narrow_in, .stage_bytes = 16384}, {.38, .63, .77, .80, .80}},
    {"narrow_in_4k", "small tiles, for inputs of a few megabytes",
     {.algorithm = Algorithm::narrow_in, .stage_bytes = 4096}, {.38, .50, .62, .70, .70}},
    {"narrow_out", "few rows: y is written as one contiguous range",
     {.algorithm = Algorithm::narrow_out, .stage_bytes = 16384}, {.30, .55, .83, .83, .83}},
    {"narrow_out_4k", "small tiles, for inputs of a few megabytes",
     {.algorithm = Algorithm::narrow_out, .stage_bytes = 4096}, {.36, .50, .58, .70, .70}},
    {"span", "many small matrices: a block's are contiguous in x and in y",
     {.algorithm = Algorithm::span, .stage_bytes = 16384}, {.70, .85, .92, .92, .92}},
    {"span_4k", "small blocks, of matrices up to 4 KB",
     {.algorithm = Algorithm::span, .threads = 128, .stage_bytes = 4096}, {.72, .88, .95, .95, .95}},
    {"runs", "the last axis stays: runs move by units of up to 16 bytes",
     {.algorithm = Algorithm::runs, .accesses = 4}, {.12, .25, .50, .80, .90}},
    {"copy", "no axis moves: 16-byte accesses",
     {.algorithm = Algorithm::copy}, {.98, .98, .98, .98, .98}},
    {"strided", "any strides: an offset per element",
     {.algorithm = Algorithm::strided}, {.07, .14, .25, .40, .50}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

}  // namespace ridge::transpose_detail
