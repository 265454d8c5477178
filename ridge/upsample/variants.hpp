// The table of resizing kernels. A row's family says what its kernel needs, accepts and costs, in the header beside its
// .cuh.
#pragma once
#include <ridge/upsample/upsample.hpp>

#include <iterator>
#include <string_view>

namespace ridge::upsample_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,                 // a thread per element of y, or of dx; any strides
  rows,                  // a thread walks down a column of y, as wide as a vector
  rows_x2,               // twice the size: a tile of x in each thread's registers
  channels,              // a thread per pixel of y and some vectors of channels
  channels_x2,           // twice the size: four pixels of y from one or four of x
  gradient_rows,         // rows of dy summed along columns, then those sums along rows, through shared memory
  gradient_rows_x2,      // twice the size: a tile of dy in each thread's registers
  gradient_channels,     // a thread per pixel of dx and vector of channels
  gradient_channels_x2,  // twice the size: a thread per some pixels of a column of dx
};
inline constexpr int algorithm_count = 9;

struct Config {
  Algorithm algorithm = Algorithm::naive;
  int threads = 256;
  int rows = 1;     // per thread, of y (rows), of x (rows_x2) or of dx (gradient_*_x2); gradient_rows: of dx per block
  int vectors = 1;  // channels: vectors of one pixel per thread
  int sums = 1;     // gradient_rows: floats of shared memory per block, more where one row needs more
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per element; any sizes, any strides", {}, Role::fallback},
    {"rows", "a thread keeps the places of 16 bytes of columns, and walks down rows: an input row is read once",
     {.algorithm = Algorithm::rows, .rows = 8}},
    {"rows_x2", "twice the size: weights are constants, accesses vectors on both sides",
     {.algorithm = Algorithm::rows_x2, .rows = 2}},
    {"channels", "channels innermost: 16 bytes of them at a time, places once per pixel",
     {.algorithm = Algorithm::channels, .vectors = 4}},
    {"channels_x2", "twice the size: four pixels per thread share what they read", {.algorithm = Algorithm::channels_x2}},
    // 32 KB of sums: Hopper's shared memory holds more blocks than its registers. 64 rows at most: where each has 4
    // vectors, all threads have work.
    {"gradient_rows", "a gradient along columns, then along rows: ratio + ratio steps instead of their product",
     {.algorithm = Algorithm::gradient_rows, .rows = 64, .sums = 8192}},
    {"gradient_rows_x2", "twice the size: weights are constants, accesses vectors on both sides",
     {.algorithm = Algorithm::gradient_rows_x2, .rows = 2}},
    {"gradient_channels", "channels innermost: 16 bytes of them per thread", {.algorithm = Algorithm::gradient_channels}},
    {"gradient_channels_x2", "twice the size: weights are constants, two rows share what they read",
     {.algorithm = Algorithm::gradient_channels_x2, .rows = 2}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

}  // namespace ridge::upsample_detail
