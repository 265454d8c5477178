// The table of pooling kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/pool/pool.hpp>

#include <optional>

namespace ridge::pool_detail {

enum class Method : std::uint8_t {
  naive,     // a thread per output, any strides
  shared,    // the inputs of a tile of outputs in shared memory, any strides
  column,    // a column of outputs in each thread's registers, any strides
  tile,      // a tile of outputs in each thread's registers, rows on 16 bytes
  channels,  // 16 bytes of neighbouring channels per thread
};

struct Config {
  Method method = Method::naive;
  int threads = 256;
  int size = 0, stride = 0, pad = 0;  // the window that the row is compiled for; size 0: any
  int rows_in_flight = 1;             // channels: input rows of a thread loaded before the first use
  int rows = 1;                       // of outputs, per tile of a block (shared) or per thread
  int columns = 1;                    // channels: columns of outputs per thread
  int below = 1, below_16bit = 1;     // channels: consecutive threads down a column of outputs
  int blocks_per_sm = 1;              // minimum occupancy requested from the compiler
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
    {"column_2x2s2", "a column of outputs in a thread's registers: an input row is reduced once",
     {.method = Method::column, .size = 2, .stride = 2, .rows = 4}, Role::fallback},
    {"column_3x3s1", "the same for windows that overlap: 18 loads for 4 outputs instead of 36",
     {.method = Method::column, .size = 3, .stride = 1, .rows = 4}, Role::fallback},
    {"column_3x3s2", "the same, every other output", {.method = Method::column, .size = 3, .stride = 2, .rows = 4}, Role::fallback},
    {"tile_2x2s2", "16-byte accesses: as many columns per thread as fit there",
     {.method = Method::tile, .size = 2, .stride = 2, .pad = 0, .rows = 2, .blocks_per_sm = 4}},
    {"tile_3x3s1", "the same, with the neighbours' elements from the L1 cache",
     {.method = Method::tile, .size = 3, .stride = 1, .pad = 1, .rows = 4, .blocks_per_sm = 4}},
    {"tile_3x3s2", "the same, every other output",
     {.method = Method::tile, .size = 3, .stride = 2, .pad = 1, .rows = 2, .blocks_per_sm = 4}},
    {"channels", "channels innermost: 16 bytes of them per thread", {.method = Method::channels}},
    {"channels_3x3", "the nine loads of a window in flight together; vertically adjacent windows share a block's cache",
     {.method = Method::channels, .size = 3, .rows_in_flight = 3, .below = 4, .below_16bit = 4}},
    {"channels_3x3s1", "4 x 2 outputs: 24 loads instead of 72, each input row reduced once",
     {.method = Method::channels, .threads = 128, .size = 3, .stride = 1, .rows_in_flight = 5, .rows = 4, .columns = 2, .below_16bit = 2}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int shared_columns = 32;  // columns of a block's tile of outputs (shared)

// Inputs along one axis for `outputs` neighbouring outputs, halo included.
constexpr std::int64_t inputs_of(std::int64_t outputs, std::int64_t stride, std::int64_t extent) {
  return (outputs - 1) * stride + extent;
}

// Floats of shared memory: the tile's inputs [rows][columns], and reduced rows [rows][shared_columns].
constexpr std::int64_t shared_floats(const Config& c, const PoolWindow& window) {
  if (c.method != Method::shared) return 0;
  const std::int64_t rows = inputs_of(c.rows, window.stride.h, window.extent().h);
  return rows * (inputs_of(shared_columns, window.stride.w, window.extent().w) + shared_columns);
}

// Registers per thread, rounded to the allocation unit: those of nvcc 13 for sm_90a.
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

// Threads down a column of outputs, for this type.
constexpr int below(const Config& c, DType dtype) { return size_of(dtype) == 2 ? c.below_16bit : c.below; }

// Threads with work, or blocks (shared).
constexpr std::int64_t items_of(const Config& c, const PoolProblem& p) {
  const std::int64_t n = p.y.shape[0], channels = p.y.shape[1], oh = p.y.shape[2], ow = p.y.shape[3];
  switch (c.method) {
    case Method::naive: return n * channels * oh * ow;
    case Method::shared: return n * channels * ceil_div(oh, c.rows) * ceil_div(ow, shared_columns);
    case Method::column: return n * channels * ceil_div(oh, c.rows) * ow;
    case Method::tile: return n * channels * ceil_div(oh, c.rows) * ceil_div(ow, vector_elements(p.dtype));
    case Method::channels:
      return n * ceil_div(oh, c.rows * below(c, p.dtype)) * below(c, p.dtype) * ceil_div(ow, c.columns) *
             ceil_div(channels, vector_elements(p.dtype));
  }
  return 0;
}

constexpr std::int64_t grid_of(const Config& c, const PoolProblem& p) {
  const std::int64_t items = items_of(c, p);
  return c.method == Method::shared ? items : ceil_div(items, c.threads);
}

// ---- layout of tensors --------------------------------------------------------------------------------------------

// Distance between planes, over channels and images; none if they are not evenly spaced.
constexpr std::optional<std::int64_t> plane_pitch(const Layout& t) {
  if (t.shape[1] == 1) return t.shape[0] == 1 ? 0 : t.stride[0];
  if (t.shape[0] == 1 || t.stride[0] == t.shape[1] * t.stride[1]) return t.stride[1];
  return std::nullopt;
}

// Whether every row starts on a 16-byte vector.
constexpr bool rows_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t vector = vector_elements(dtype);
  return alignment >= vector_bytes && (t.shape[2] == 1 || t.stride[2] % vector == 0) &&
         plane_pitch(t).value_or(1) % vector == 0;
}
// Precondition of tile's loads: 16-byte vectors are wholly inside rows or wholly outside.
constexpr bool vector_loads(const PoolProblem& p) {
  return p.x.shape[3] % vector_elements(p.dtype) == 0 && rows_on_vectors(p.x, p.dtype, p.align_x);
}
constexpr bool vector_stores(const PoolProblem& p) { return rows_on_vectors(p.y, p.dtype, p.align_y); }

}  // namespace ridge::pool_detail
