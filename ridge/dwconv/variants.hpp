// The table of dwconv's kernels. The header beside each family's .cuh says what its kernels need, take and cost:
// element, tiled, spectral, ring, sm80_toeplitz, sm90_toeplitz.
#pragma once
#include <ridge/dwconv/dwconv.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace ridge::dwconv_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  element,   // a thread per output, operands from memory
  tiled,     // tiles of both operands in shared memory
  spectral,  // tiles of both operands, multiplied in the frequency domain
  ring,      // whole rows, multiplied in the frequency domain
  tensor,    // tensor cores, by mma.sync
  whole,     // tensor cores, by wgmma, with whole rows in shared memory
};
inline constexpr int algorithm_count = 6;

struct Config {
  Algorithm algorithm = Algorithm::element;
  int threads = 256;
  int outputs = 1;        // tiled: neighbouring outputs of a thread
  int batches = 1;        // tiled: rows of k that share a filter in a block; tensor, whole: groups of eight such rows
  bool paired = false;    // tiled: a block takes the i-th tile from both ends, so that all have equal work
  int row_tiles = 2;      // tensor: a warp's tiles of 16 outputs
  int blocks_per_sm = 2;  // spectral, ring, tensor, whole: minimum occupancy, for __launch_bounds__
  int points = 0;         // spectral, ring: of a transform; sixteen per thread
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any strides", {}},
    {"shared", "tiles of k and of the filter in shared memory", {.algorithm = Algorithm::tiled}},
    {"float4", "four outputs per thread: a filter's elements stay in registers as a sliding window", {.algorithm = Algorithm::tiled, .threads = 64, .outputs = 4}},
    {"batched", "one filter's registers serve four rows of k", {.algorithm = Algorithm::tiled, .threads = 64, .outputs = 4, .batches = 4}, Role::lesson},
    {"balanced", "eight rows of k, and an early and a late tile for every block: equal work", {.algorithm = Algorithm::tiled, .threads = 64, .outputs = 4, .batches = 8, .paired = true}},
    {"fft_1024", "by Fourier transforms of 1,024 points, two rows of k in one", {.algorithm = Algorithm::spectral, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_8192", "of 8,192 points: fewer tiles of a long row meet", {.algorithm = Algorithm::spectral, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"fft_row_1024", "whole rows of up to 1,024 steps, by as many values", {.algorithm = Algorithm::ring, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_row_2048", "of up to 2,048 steps", {.algorithm = Algorithm::ring, .threads = 128, .blocks_per_sm = 4, .points = 2048}},
    {"fft_row_4096", "of up to 4,096 steps", {.algorithm = Algorithm::ring, .threads = 256, .blocks_per_sm = 2, .points = 4096}},
    {"fft_row_8192", "of up to 8,192 steps, by one exchange more", {.algorithm = Algorithm::ring, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"tensor_8", "the filter as a Toeplitz matrix on tensor cores, eight rows of k", {.algorithm = Algorithm::tensor, .batches = 1, .row_tiles = 4}},
    {"tensor_32", "32 rows of k: a fragment of the filter serves four products", {.algorithm = Algorithm::tensor, .batches = 4}},
    {"whole_32", "32 whole rows of k in shared memory, the filter's fragments in registers: Hopper's wgmma", {.algorithm = Algorithm::whole, .batches = 4}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::dwconv_detail
