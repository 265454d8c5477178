// The table of pooling kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/pool/pool.hpp>

#include <optional>

namespace ridge::pool_detail {

enum class Method : std::uint8_t {
  naive,     // a thread per output, any strides
  shared,    // the inputs of a tile of outputs in shared memory, any strides
  column,    // outputs below one another in each thread's registers, any strides
  tile,      // a tile of outputs in each thread's registers, rows on 16 bytes
  channels,  // 16 bytes of neighbouring channels per thread
};

struct Config {
  Method method = Method::naive;
  int threads = 256;
  int size = 0, stride = 0, pad = 0;  // of the one window that the row is compiled for; size 0: any
  int ahead = 1;                      // channels: input rows of a thread under way before the first is used
  int rows = 1;                       // of outputs: of a block's tile (shared), of a thread (the others)
  int columns = 1;                    // channels: of outputs, side by side, of a thread
  int below = 1, below_16bit = 1;     // channels: threads below one another that are neighbours in their block
  int blocks_per_sm = 1;              // least residency asked of the compiler
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
    {"shared", "a tile's inputs in shared memory, reduced along rows, then along columns", {.method = Method::shared, .rows = 16}, Role::fallback},
    {"column_2x2s2", "outputs below one another in a thread's registers: an input row is reduced once",
     {.method = Method::column, .size = 2, .stride = 2, .rows = 4}, Role::fallback},
    {"column_3x3s1", "the same for windows that overlap: 18 loads for 4 outputs in place of 36",
     {.method = Method::column, .size = 3, .stride = 1, .rows = 4}, Role::fallback},
    {"column_3x3s2", "the same, every other output", {.method = Method::column, .size = 3, .stride = 2, .rows = 4}, Role::fallback},
    {"tile_2x2s2", "16-byte accesses: as many columns per thread as fit there",
     {.method = Method::tile, .size = 2, .stride = 2, .pad = 0, .rows = 2, .blocks_per_sm = 4}},
    {"tile_3x3s1", "the same, with the neighbours' elements from the L1 cache",
     {.method = Method::tile, .size = 3, .stride = 1, .pad = 1, .rows = 4, .blocks_per_sm = 4}},
    {"tile_3x3s2", "the same, every other output",
     {.method = Method::tile, .size = 3, .stride = 2, .pad = 1, .rows = 2, .blocks_per_sm = 4}},
    {"channels", "channels innermost: 16 bytes of them per thread", {.method = Method::channels}},
    {"channels_3x3", "the nine loads of a window in flight together; windows below one another share a block's cache",
     {.method = Method::channels, .size = 3, .ahead = 3, .below = 4, .below_16bit = 4}},
    {"channels_3x3s1", "4 x 2 outputs: 24 loads in place of 72, each input row reduced once",
     {.method = Method::channels, .threads = 128, .size = 3, .stride = 1, .ahead = 5, .rows = 4, .columns = 2, .below_16bit = 2}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int unit_bytes = 16;      // the widest access of a thread
inline constexpr int shared_columns = 32;  // of a block's tile of outputs (shared)

// Inputs along one axis that `outputs` neighbouring outputs see.
constexpr std::int64_t inputs_of(std::int64_t outputs, std::int64_t stride, std::int64_t extent) {
  return (outputs - 1) * stride + extent;
}

// Floats of shared memory: the tile's inputs [rows][columns], and their rows reduced [rows][shared_columns].
constexpr std::int64_t shared_floats(const Config& c, const PoolWindow& window) {
  if (c.method != Method::shared) return 0;
  const std::int64_t rows = inputs_of(c.rows, window.stride.h, window.extent().h);
  return rows * (inputs_of(shared_columns, window.stride.w, window.extent().w) + shared_columns);
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
constexpr int registers(const Config& c) {
  switch (c.method) {
    case Method::naive: return 48;
    case Method::shared: return 64;
    case Method::column: return c.size == 3 && c.stride == 2 ? 48 : 32;
    case Method::tile: return c.size == 3 ? 64 : 48;
    case Method::channels: return c.rows > 2 ? 80 : c.rows > 1 ? 64 : c.size == 3 ? 48 : 40;
  }
  return 0;
}

// Columns that a thread of `tile` makes, channels that one of `channels` does.
constexpr std::int64_t unit_elements(DType dtype) { return unit_bytes / static_cast<std::int64_t>(size_of(dtype)); }

constexpr int below(const Config& c, DType dtype) { return size_of(dtype) == 2 ? c.below_16bit : c.below; }

// Threads with work, or blocks (shared).
constexpr std::int64_t items_of(const Config& c, const PoolProblem& p) {
  const std::int64_t n = p.y.shape[0], channels = p.y.shape[1], oh = p.y.shape[2], ow = p.y.shape[3];
  switch (c.method) {
    case Method::naive: return n * channels * oh * ow;
    case Method::shared: return n * channels * ceil_div(oh, c.rows) * ceil_div(ow, shared_columns);
    case Method::column: return n * channels * ceil_div(oh, c.rows) * ow;
    case Method::tile: return n * channels * ceil_div(oh, c.rows) * ceil_div(ow, unit_elements(p.dtype));
    case Method::channels:
      return n * ceil_div(oh, c.rows * below(c, p.dtype)) * below(c, p.dtype) * ceil_div(ow, c.columns) *
             ceil_div(channels, unit_elements(p.dtype));
  }
  return 0;
}

constexpr std::int64_t grid_of(const Config& c, const PoolProblem& p) {
  const std::int64_t items = items_of(c, p);
  return c.method == Method::shared ? items : ceil_div(items, c.threads);
}

// ---- where tensors lie -------------------------------------------------------------------------------------------

// From one plane to the next, over channels and images; none where they are not evenly spaced.
constexpr std::optional<std::int64_t> plane_pitch(const Layout& t) {
  if (t.shape[1] == 1) return t.shape[0] == 1 ? 0 : t.stride[0];
  if (t.shape[0] == 1 || t.stride[0] == t.shape[1] * t.stride[1]) return t.stride[1];
  return std::nullopt;
}

// Whether every row starts on a unit of 16 bytes.
constexpr bool rows_on_units(const Layout& t, DType dtype, int alignment) {
  const std::int64_t unit = unit_elements(dtype);
  return alignment >= unit_bytes && (t.shape[2] == 1 || t.stride[2] % unit == 0) &&
         plane_pitch(t).value_or(1) % unit == 0;
}
// What tile's loads need: that units of 16 bytes lie wholly inside rows or wholly outside.
constexpr bool wide_loads(const PoolProblem& p) {
  return p.x.shape[3] % unit_elements(p.dtype) == 0 && rows_on_units(p.x, p.dtype, p.align_x);
}
constexpr bool wide_stores(const PoolProblem& p) { return rows_on_units(p.y, p.dtype, p.align_y); }

}  // namespace ridge::pool_detail
