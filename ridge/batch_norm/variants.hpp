// The tables of batch norm's kernels, one for statistics and one for applying them; of its gradients, one for sums and
// one for dx. A row's family says what its kernel needs, accepts and costs, in the header beside its .cuh:
// apply_element, apply_planes, apply_channels; stats_serial, stats_planes, stats_images, stats_channels; of gradients
// sums_* and gradient_* of the same names.
#pragma once
#include <ridge/batch_norm/batch_norm.hpp>

#include <iterator>
#include <string_view>

namespace ridge::batch_norm_detail {

// ---- applying statistics -----------------------------------------------------------------------------------------

// In the order of `apply_families` (families.hpp).
enum class Apply : std::uint8_t {
  element,   // a thread per element, any strides
  planes,    // contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes
  channels,  // contiguous channels: 16 bytes of them per thread, in several positions
};
inline constexpr int apply_algorithm_count = 3;

struct ApplyConfig {
  Apply algorithm = Apply::element;
  int threads = 256;
  int vectors = 1;  // 16-byte vectors of a thread: along planes, or of the same channels in several positions
  bool operator==(const ApplyConfig&) const = default;
};

struct ApplyVariant {
  std::string_view name, step;
  ApplyConfig config;
  Role role = Role::general;
};

// clang-format off
inline constexpr ApplyVariant apply_variants[] = {
    {"naive", "a thread per element; any strides", {}, Role::fallback},
    {"planes", "16-byte accesses, two under way; a channel's parameters are fetched once for both", {.algorithm = Apply::planes, .threads = 512, .vectors = 2}},
    {"channels", "channels innermost: parameters in registers, used in three positions", {.algorithm = Apply::channels, .vectors = 3}},
};
// clang-format on
inline constexpr int apply_variant_count = static_cast<int>(std::size(apply_variants));

// ---- statistics --------------------------------------------------------------------------------------------------

// In the order of `stats_families` (families.hpp).
enum class Stats : std::uint8_t {
  serial,    // a thread per channel, two passes
  planes,    // blocks per channel, lanes along its planes
  images,    // small planes: blocks per some channels, lanes along their planes, the same vector in several images
  channels,  // blocks per some channels, lanes along channels first
};
inline constexpr int stats_algorithm_count = 4;

struct StatsConfig {
  Stats algorithm = Stats::serial;
  int threads = 256;
  bool vectorized = false;  // 16-byte accesses, for tensors that allow them; else any strides
  int loads = 4;            // a thread's loads before the first use: a step
  int blocks_per_sm = 4;    // asked of the compiler; the grid is one wave of them, or a few whole waves
  bool operator==(const StatsConfig&) const = default;
};

struct StatsVariant {
  std::string_view name, step;
  StatsConfig config;
  Role role = Role::general;
};

// clang-format off
inline constexpr StatsVariant stats_variants[] = {
    {"naive", "a thread per channel, two passes; any strides", {.threads = 128}, Role::lesson},
    {"planes_scalar", "blocks per channel, one pass, eight elements of a thread at a time", {.algorithm = Stats::planes, .loads = 8, .blocks_per_sm = 5}, Role::fallback},
    {"planes", "16-byte accesses", {.algorithm = Stats::planes, .vectorized = true, .blocks_per_sm = 5}},
    {"images", "small planes: those of 4 or 8 channels are read as one stretch, 16 bytes of it in several images", {.algorithm = Stats::images, .vectorized = true}},
    {"channels_scalar", "channels innermost: a lane per channel", {.algorithm = Stats::channels, .loads = 8, .blocks_per_sm = 5}, Role::fallback},
    {"channels", "16-byte accesses: 4 or 8 channels per lane", {.algorithm = Stats::channels, .vectorized = true, .blocks_per_sm = 3}},
};
// clang-format on
inline constexpr int stats_variant_count = static_cast<int>(std::size(stats_variants));

// ---- gradients ---------------------------------------------------------------------------------------------------
// The rows have the names of those above, so that one name asks for a way through memory in both directions.

// clang-format off
inline constexpr StatsVariant sums_variants[] = {
    {"naive", "a thread per channel; any strides", {.threads = 128}, Role::lesson},
    {"planes_scalar", "blocks per channel, four elements of x and dy of a thread at a time", {.algorithm = Stats::planes}, Role::fallback},
    {"planes", "16-byte accesses", {.algorithm = Stats::planes, .vectorized = true, .loads = 2}},
    {"images", "small planes: those of 4 or 8 channels are read as one stretch", {.algorithm = Stats::images, .vectorized = true, .loads = 3, .blocks_per_sm = 2}},
    {"channels_scalar", "channels innermost: a lane per channel", {.algorithm = Stats::channels}, Role::fallback},
    {"channels", "16-byte accesses: 4 or 8 channels per lane", {.algorithm = Stats::channels, .vectorized = true, .loads = 3, .blocks_per_sm = 2}},
};
inline constexpr ApplyVariant gradient_variants[] = {
    {"naive", "a thread per element; any strides", {}, Role::fallback},
    {"planes", "16-byte accesses, two of each tensor under way", {.algorithm = Apply::planes, .vectors = 2}},
    {"channels", "channels innermost: parameters in registers, used in up to 16 positions, two at a time", {.algorithm = Apply::channels, .vectors = 2}},
};
// clang-format on
inline constexpr int sums_variant_count = static_cast<int>(std::size(sums_variants));
inline constexpr int gradient_variant_count = static_cast<int>(std::size(gradient_variants));

template <class Row, std::size_t Rows> constexpr bool have_names_of(const Row (&a)[Rows], const Row (&b)[Rows]) {
  for (std::size_t i = 0; i < Rows; ++i)
    if (a[i].name != b[i].name) return false;
  return true;
}
static_assert(have_names_of(sums_variants, stats_variants) && have_names_of(gradient_variants, apply_variants));

}  // namespace ridge::batch_norm_detail
