// The table of pooling kernels. A row's family says what its kernel needs, accepts and costs, in the header beside its
// .cuh: naive, shared, column, tile, channels; of adaptive pooling adaptive, global_planes, global_channels; of
// gradients gradient_pixels, gradient_rows, gradient_tiles.
#pragma once
#include <ridge/pool/pool.hpp>

#include <iterator>
#include <string_view>

namespace ridge::pool_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,            // a thread per output, any strides
  shared,           // the inputs of a tile of outputs in shared memory, any strides
  column,           // a column of outputs in each thread's registers, any strides
  tile,             // a tile of outputs in each thread's registers, rows on 16 bytes
  channels,         // 16 bytes of neighbouring channels per thread
  adaptive,         // windows of adaptive pooling: an output or 16 bytes of channels per thread
  global_planes,    // one window per plane: lanes along it
  global_channels,  // one window per plane: lanes along channels, then along pixels
  gradient_pixels,  // an input, or 16 bytes of a row or of channels, per thread
  gradient_rows,    // a tile of inputs in each thread's registers, rows on 16 bytes
  gradient_tiles,   // the same, of 16 bytes of channels
};
inline constexpr int algorithm_count = 11;

// What a thread's 16 bytes are.
enum class Vectors : std::uint8_t { none, channels, columns };

struct Config {
  Algorithm algorithm = Algorithm::naive;
  int threads = 256;
  int size = 0, stride = 0, pad = 0;  // the window that the row is compiled for; size 0: any
  int rows_in_flight = 1;             // channels: input rows of a thread loaded before the first use
  int rows = 1;                       // of outputs, per tile of a block (shared) or per thread; of a gradient's inputs
  int columns = 1;                    // the same, of channels
  int below = 1, below_16bit = 1;     // channels: consecutive threads down a column of outputs
  int blocks_per_sm = 1;              // minimum occupancy requested from the compiler
  Vectors vectors = Vectors::none;    // adaptive, gradient_pixels; none: one element
  bool wide = false;                  // gradient_pixels: indices of 64 bits
  int lanes = 1;                      // global_planes: threads of a plane
  int loads = 4;                      // global_*: a thread's loads before the first use
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any window, any strides", {}, Role::fallback},
    {"shared", "a tile's inputs in shared memory, reduced along rows, then along columns", {.algorithm = Algorithm::shared, .rows = 16}, Role::fallback},
    {"column_2x2s2", "a column of outputs in a thread's registers: an input row is reduced once",
     {.algorithm = Algorithm::column, .size = 2, .stride = 2, .rows = 4}, Role::fallback},
    {"column_3x3s1", "the same for windows that overlap: 18 loads for 4 outputs instead of 36",
     {.algorithm = Algorithm::column, .size = 3, .stride = 1, .rows = 4}, Role::fallback},
    {"column_3x3s2", "the same, every other output", {.algorithm = Algorithm::column, .size = 3, .stride = 2, .rows = 4}, Role::fallback},
    {"tile_2x2s2", "16-byte accesses: as many columns per thread as fit there",
     {.algorithm = Algorithm::tile, .size = 2, .stride = 2, .pad = 0, .rows = 2, .blocks_per_sm = 4}},
    {"tile_3x3s1", "the same, with the neighbours' elements from the L1 cache",
     {.algorithm = Algorithm::tile, .size = 3, .stride = 1, .pad = 1, .rows = 4, .blocks_per_sm = 4}},
    {"tile_3x3s2", "the same, every other output",
     {.algorithm = Algorithm::tile, .size = 3, .stride = 2, .pad = 1, .rows = 2, .blocks_per_sm = 4}},
    {"channels", "channels innermost: 16 bytes of them per thread", {.algorithm = Algorithm::channels}},
    {"channels_3x3", "the nine loads of a window in flight together; vertically adjacent windows share a block's cache",
     {.algorithm = Algorithm::channels, .size = 3, .rows_in_flight = 3, .below = 4, .below_16bit = 4}},
    {"channels_3x3s1", "4 x 2 outputs: 24 loads instead of 72, each input row reduced once",
     {.algorithm = Algorithm::channels, .threads = 128, .size = 3, .stride = 1, .rows_in_flight = 5, .rows = 4, .columns = 2, .below_16bit = 2}},
    {"adaptive", "windows of several sizes, a thread per output; any strides", {.algorithm = Algorithm::adaptive}, Role::fallback},
    {"adaptive_channels", "channels innermost: 16 bytes of them per thread",
     {.algorithm = Algorithm::adaptive, .vectors = Vectors::channels}},
    {"global_8", "one window per plane: eight lanes of a warp along it", {.algorithm = Algorithm::global_planes, .lanes = 8, .loads = 8}},
    {"global_32", "the same, a warp per plane", {.algorithm = Algorithm::global_planes, .lanes = 32, .loads = 8}},
    {"global_256", "the same, a block per plane", {.algorithm = Algorithm::global_planes, .lanes = 256, .loads = 8}},
    {"global_channels", "the same, channels innermost: 16 bytes of them per lane, and several lanes along the pixels",
     {.algorithm = Algorithm::global_channels, .loads = 8}},
    {"gradient_naive", "gradients: a thread per input adds the windows that hold it; any window, any strides",
     {.algorithm = Algorithm::gradient_pixels, .wide = true}, Role::fallback},
    {"gradient", "indices of 32 bits: divisions are multiplications", {.algorithm = Algorithm::gradient_pixels}, Role::fallback},
    {"gradient_columns", "16 bytes of a row per thread", {.algorithm = Algorithm::gradient_pixels, .vectors = Vectors::columns}},
    {"gradient_channels", "channels innermost: 16 bytes of them per thread",
     {.algorithm = Algorithm::gradient_pixels, .vectors = Vectors::channels}},
    {"gradient_rows_2x2s2", "a tile of inputs per thread, its windows in registers: each is searched once",
     {.algorithm = Algorithm::gradient_rows, .size = 2, .stride = 2, .pad = 0, .rows = 2, .blocks_per_sm = 4}},
    {"gradient_rows_3x3s1", "the same for windows that overlap",
     {.algorithm = Algorithm::gradient_rows, .size = 3, .stride = 1, .pad = 1, .rows = 1, .blocks_per_sm = 2}},
    {"gradient_rows_3x3s2", "the same, every other output",
     {.algorithm = Algorithm::gradient_rows, .size = 3, .stride = 2, .pad = 1, .rows = 2, .blocks_per_sm = 2}},
    {"gradient_channels_2x2s2", "2 x 2 inputs of 16 bytes of channels per thread",
     {.algorithm = Algorithm::gradient_tiles, .size = 2, .stride = 2, .pad = 0, .rows = 2, .columns = 2, .blocks_per_sm = 3}},
    {"gradient_channels_3x3s2", "the same: 23 loads for 4 inputs",
     {.algorithm = Algorithm::gradient_tiles, .threads = 128, .size = 3, .stride = 2, .pad = 1, .rows = 2, .columns = 2, .blocks_per_sm = 3}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

}  // namespace ridge::pool_detail
