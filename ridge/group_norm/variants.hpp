// The table of group norm's kernels. A row's family says what its kernel needs, accepts and costs, in the header beside
// its .cuh: element, resident, split. How a block's threads go through its groups is the same in all: access.hpp.
#pragma once
#include <ridge/group_norm/group_norm.hpp>

#include <iterator>
#include <string_view>

namespace ridge::group_norm_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  element,   // a block per group, which reads it once for each pass; any strides
  resident,  // a block per group or per some: read once and kept on chip
  split,     // several blocks per group: a kernel for moments, and one that writes; gradients: sums between them
};
inline constexpr int algorithm_count = 3;

// How a block's threads go through its groups.
enum class Access : std::uint8_t {
  element,  // an element at a time, any strides
  span,     // a group is one contiguous span, as in nchw: 16-byte vectors of it
  pixels,   // contiguous channels, as in nhwc: a thread has one 16-byte vector of them, in many pixels
  mixed,    // pixels whose vectors have channels of several groups. No row says so: the launch sees it
};

struct Config {
  Algorithm algorithm = Algorithm::element;
  Access access = Access::element;
  int threads = 256;      // the most of a block
  int in_registers = 0;   // resident: vectors that a thread keeps in registers; its others are in shared memory
  int loads = 4;          // a thread's loads before the first use
  int blocks_per_sm = 4;  // asked of the compiler; split: the grid is about as many
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a block per group, three passes, an element at a time; any strides", {.threads = 512, .blocks_per_sm = 2}, Role::fallback},
    {"split_scalar", "several blocks per group: a kernel for moments in one pass, and one that writes; any strides", {.algorithm = Algorithm::split, .loads = 8}, Role::fallback},
    {"split_span", "16-byte accesses to groups that are contiguous", {.algorithm = Algorithm::split, .access = Access::span}},
    {"split_pixels", "16-byte accesses along contiguous channels, of as many groups at a time as make whole lines", {.algorithm = Algorithm::split, .access = Access::pixels, .blocks_per_sm = 3}},
    {"span_128", "contiguous groups are read once and kept on chip, four vectors of a thread in registers", {.algorithm = Algorithm::resident, .access = Access::span, .threads = 128, .in_registers = 4, .blocks_per_sm = 8}},
    {"span_512", "more threads", {.algorithm = Algorithm::resident, .access = Access::span, .threads = 512, .in_registers = 4, .blocks_per_sm = 2}},
    {"span_1024", "as many as a block has", {.algorithm = Algorithm::resident, .access = Access::span, .threads = 1024, .in_registers = 4, .blocks_per_sm = 1}},
    {"pixels_128", "the same for contiguous channels, a few groups to a block", {.algorithm = Algorithm::resident, .access = Access::pixels, .threads = 128, .in_registers = 4, .blocks_per_sm = 8}},
    {"pixels_512", "more threads", {.algorithm = Algorithm::resident, .access = Access::pixels, .threads = 512, .in_registers = 4, .blocks_per_sm = 2}},
    {"pixels_1024", "as many as a block has", {.algorithm = Algorithm::resident, .access = Access::pixels, .threads = 1024, .in_registers = 4, .blocks_per_sm = 1}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// A variant's configuration as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::group_norm_detail
