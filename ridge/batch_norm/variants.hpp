// The tables of batch norm's kernels, one for statistics and one for applying them, and every fact that plan and
// kernels share.
#pragma once
#include <ridge/batch_norm/batch_norm.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/tile/columns.hpp>

#include <algorithm>
#include <bit>

namespace ridge::batch_norm_detail {

// ---- layouts of tensors: [n, c, h, w] ----------------------------------------------------------------------------

constexpr std::int64_t spatial(const Layout& t) { return t.shape[2] * t.shape[3]; }
constexpr std::int64_t per_channel(const Layout& t) { return t.shape[0] * spatial(t); }

// The stride from one position of a channel to the next, over images and space; none if they are not evenly spaced.
constexpr std::optional<std::int64_t> position_pitch(const Layout& t) {
  if (t.shape[2] != 1) return std::nullopt;
  if (t.shape[3] == 1) return t.shape[0] == 1 ? 0 : t.stride[0];
  if (t.shape[0] == 1 || t.stride[0] == t.shape[3] * t.stride[3]) return t.stride[3];
  return std::nullopt;
}

// Whether channels are contiguous, and those of every position are whole, aligned 16-byte vectors.
constexpr bool channels_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype);
  const auto pitch = position_pitch(t);
  return alignment >= vector_bytes && t.stride[1] == 1 && t.shape[1] % of_vector == 0 && pitch &&
         *pitch % of_vector == 0;
}
// Whether images are contiguous and whole, aligned 16-byte vectors.
constexpr bool images_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype), plane = spatial(t);
  return alignment >= vector_bytes && t.shape[2] == 1 && (t.shape[3] == 1 || t.stride[3] == 1) &&
         (t.shape[1] == 1 || t.stride[1] == plane) && t.shape[1] * plane % of_vector == 0 &&
         (t.shape[0] == 1 || t.stride[0] % of_vector == 0);
}
// Whether planes are contiguous and whole, aligned 16-byte vectors.
constexpr bool planes_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t of_vector = vector_elements(dtype);
  return alignment >= vector_bytes && t.shape[2] == 1 && t.stride[3] == 1 && t.shape[3] % of_vector == 0 &&
         (t.shape[0] == 1 || t.stride[0] % of_vector == 0) && (t.shape[1] == 1 || t.stride[1] % of_vector == 0);
}

// ---- applying statistics -----------------------------------------------------------------------------------------

enum class Apply : std::uint8_t {
  element,   // a thread per element, any strides
  planes,    // contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes
  channels,  // contiguous channels: 16 bytes of them per thread, in several positions
};

struct ApplyConfig {
  Apply method = Apply::element;
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
    {"planes", "16-byte accesses, two under way; a channel's parameters are fetched once for both", {.method = Apply::planes, .threads = 512, .vectors = 2}},
    {"channels", "channels innermost: parameters in registers, used in three positions", {.method = Apply::channels, .vectors = 3}},
};
// clang-format on
inline constexpr int apply_variant_count = static_cast<int>(std::size(apply_variants));

// Registers that nvcc 13 allocates for sm_90a, rounded up to the allocation unit.
constexpr int registers(const ApplyConfig& c) {
  return c.method == Apply::channels ? 64 : c.method == Apply::planes ? 48 : 32;
}

// Whether each vector of `planes` lies in one plane; else its position is computed in elements, which are more.
constexpr bool whole_planes(const BatchNormProblem& p) { return spatial(p.x) % vector_elements(p.dtype) == 0; }

// Apply::channels: a thread's positions are this far apart, with those of as many other threads between them, so that
// blocks go through memory in the order of their numbers.
inline constexpr int positions_apart = 16;

// Threads with work.
constexpr std::int64_t apply_items(const ApplyConfig& c, const BatchNormProblem& p) {
  const std::int64_t of_vector = vector_elements(p.dtype);
  switch (c.method) {
    case Apply::element: return p.y.count();
    case Apply::planes: return ceil_div(ceil_div(p.y.count(), of_vector), c.threads * c.vectors) * c.threads;
    case Apply::channels:
      return ceil_div(per_channel(p.y), positions_apart * c.vectors) * positions_apart * (p.y.shape[1] / of_vector);
  }
  return 0;
}
constexpr std::int64_t apply_grid(const ApplyConfig& c, const BatchNormProblem& p) {
  return ceil_div(apply_items(c, p), c.threads);
}

// ---- statistics --------------------------------------------------------------------------------------------------

enum class Stats : std::uint8_t {
  serial,    // a thread per channel, two passes
  planes,    // blocks per channel, lanes along its planes
  images,    // small planes: blocks per some channels, lanes along their planes, the same vector in several images
  channels,  // blocks per some channels, lanes along channels first
};

struct StatsConfig {
  Stats method = Stats::serial;
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
    {"planes_scalar", "blocks per channel, one pass, eight elements of a thread at a time", {.method = Stats::planes, .loads = 8, .blocks_per_sm = 5}, Role::fallback},
    {"planes", "16-byte accesses", {.method = Stats::planes, .vectorized = true, .blocks_per_sm = 5}},
    {"images", "small planes: those of 4 or 8 channels are read as one stretch, 16 bytes of it in several images", {.method = Stats::images, .vectorized = true}},
    {"channels_scalar", "channels innermost: a lane per channel", {.method = Stats::channels, .loads = 8, .blocks_per_sm = 5}, Role::fallback},
    {"channels", "16-byte accesses: 4 or 8 channels per lane", {.method = Stats::channels, .vectorized = true, .blocks_per_sm = 3}},
};
// clang-format on
inline constexpr int stats_variant_count = static_cast<int>(std::size(stats_variants));

constexpr int registers(const StatsConfig& c) {
  return !c.vectorized || c.method == Stats::planes ? 48 : c.method == Stats::images ? 64 : 80;
}

// Bytes of the count, mean and sum of squares of a slice of a channel, and of the mean's base.
inline constexpr int partial_bytes = 16;

inline constexpr int most_columns = 32;  // lanes side by side along channels (channels)

// How a statistics kernel divides its work. A channel's items are elements, 16-byte vectors of its planes, or
// positions.
struct StatsGrid {
  std::int64_t groups = 0;  // channels, or column blocks of channels, that blocks do not share
  std::int64_t items = 0;   // of a channel; Stats::images: images
  std::int64_t slices = 0;  // of a channel: blocks, and partial results if there are several
  std::int64_t step = 1;    // items that a block takes at a time
  int columns = 1;          // lanes along channels; images: along planes
  constexpr std::int64_t blocks() const { return groups * slices; }
};

constexpr StatsGrid stats_grid(const StatsConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  const std::int64_t channels = p.x.shape[1], elements = per_channel(p.x),
                     of_vector = c.vectorized ? vector_elements(p.dtype) : 1;
  StatsGrid g;
  if (c.method == Stats::serial) {
    g = {.groups = ceil_div(channels, c.threads), .items = elements, .slices = elements > 0 ? 1 : 0};
    g.step = elements;
    return g;
  }
  if (c.method == Stats::planes) {
    g.groups = channels;
    g.items = elements / of_vector;
    g.step = std::int64_t{c.threads} * c.loads;
  } else if (c.method == Stats::images) {  // vector_elements() channels are as many vectors as a plane has elements
    g.columns = static_cast<int>(std::clamp<std::int64_t>(spatial(p.x), 1, c.threads));
    g.groups = ceil_div(channels, of_vector);
    g.items = elements > 0 ? p.x.shape[0] : 0;
    g.step = std::int64_t{c.threads} / g.columns * c.loads;
  } else {
    const std::int64_t wanted = std::clamp<std::int64_t>(channels / of_vector, 1, most_columns);
    g.columns = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(wanted)));
    g.groups = ceil_div(channels, g.columns * of_vector);
    g.items = elements;
    g.step = std::int64_t{c.threads} / g.columns * c.loads;
  }
  const std::int64_t steps = ceil_div(g.items, g.step);
  if (steps == 0 || g.groups == 0) return g;
  const std::int64_t resident = std::int64_t{device.sms} * c.blocks_per_sm;
  // Fewer than four steps of images take less time than a second launch.
  const std::int64_t most = c.method == Stats::images ? ceil_div(steps, 4) : steps;
  const std::int64_t wanted = std::clamp<std::int64_t>(tile::whole_waves(g.groups, resident), 1, most);
  g.slices = ceil_div(steps, ceil_div(steps, wanted));
  return g;
}

// Shared memory of `channels` and `images`: mean and squares of each lane's elements, and their count.
constexpr int stats_smem_bytes(const StatsConfig& c, DType dtype) {
  if (c.method != Stats::channels && c.method != Stats::images) return 0;
  return c.threads * (2 * static_cast<int>(c.vectorized ? vector_elements(dtype) : 1) + 1) * 4;
}

inline constexpr int finish_threads = 128, finish_loads = 4;  // a block per channel

}  // namespace ridge::batch_norm_detail
