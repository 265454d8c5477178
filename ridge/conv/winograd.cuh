// Winograd's convolution with filters of 3 x 3, in float32: F(2x2, 3x3). Sums and differences of 4 x 4 inputs are
// multiplied with those of the filters and give 2 x 2 outputs: 16 products for 36 multiply-adds. Over all tiles and
// channels these are 16 matrix products, which gemm's kernel computes (gemm/thread_tile.cuh):
//
//   u [16][channels][filters] = G w G'        v [16][channels][tiles] = B' x B
//   m [16][filters][tiles] = u' v             y = A' m A
//
//        1             0                1  0 -1  0               1  1  1  0
//   G =  1/2  1/2  1/2             B' = 0  1  1  0          A' = 0  1 -1 -1
//        1/2 -1/2  1/2                  0 -1  1  0
//        0    0    1                    0  1  0 -1
//
// Sums, differences and products are float32; G's halves are exact. The magnitudes of the 4 x 4 inputs bound the error;
// in the plain sum the output's own 3 x 3 inputs do. A value that is not finite, or overflows on the way, would reach
// outputs that do not depend on it: where an output of a tile is not finite, the tile's outputs are computed again, by
// definition.
//
// Lanes follow the contiguous axis. In NCHW a thread has a tile (or a filter), and lanes follow tiles. In NHWC lanes
// follow channels, and in y filters. u, v and m have the same layout in both, so that one kernel computes the products:
// in NHWC a block has 32 channels, with four tiles or filters per thread, and transposes them in shared memory.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/thread_tile.cuh>

#include <cmath>

namespace ridge::conv_detail {

struct WinogradShape {
  int channels, filters;
  int h, w, oh, ow, top, left;
  std::int64_t first;                // image of this launch
  std::int64_t pitch, filter_pitch;  // of rows of tiles and of filters
  unsigned tiles;                    // of this launch
  Divider tiles_w, tiles_h;
  Divider across_u, across_v, across_y;  // extent of the axis that lanes follow; in NHWC in blocks of lanes
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
  bool pairs = false;  // outputs of a row are stored by two

  // Returns the image of tile t; i, j: the tile's first output.
  __device__ __forceinline__ std::int64_t coordinates(unsigned t, int& i, int& j) const {
    unsigned row = tiles_w.divide(t);
    const unsigned n = tiles_h.divide(row);
    i = static_cast<int>(row) * winograd_outputs;
    j = static_cast<int>(t) * winograd_outputs;
    return first + n;
  }

  // d = B' x B for a tile and a channel.
  __device__ __forceinline__ void transform_inputs(const float* image, unsigned tile, unsigned c,
                                                   float (&d)[4][4]) const {
    int i, j;
    const std::int64_t n = coordinates(tile, i, j);
    i -= top;
    j -= left;
    const float* from = image + n * x[0] + c * x[1] + i * x[2] + j * x[3];  // may be outside, and is not read there
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      const bool inside = static_cast<unsigned>(i + a) < static_cast<unsigned>(h) &&
                          static_cast<unsigned>(j + b) < static_cast<unsigned>(w);
      d[a][b] = inside ? from[a * x[2] + b * x[3]] : 0.0f;
    }
    const auto along = [](float& p, float& q, float& r, float& s) {
      const float second = q + r, third = r - q, fourth = q - s;
      p -= r;
      q = second;
      r = third;
      s = fourth;
    };
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) along(d[a][0], d[a][1], d[a][2], d[a][3]);
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) along(d[0][b], d[1][b], d[2][b], d[3][b]);
  }

  // sums = G w G' for a filter and a channel.
  __device__ __forceinline__ void transform_filter(const float* filters_of, unsigned k, unsigned c,
                                                   float (&sums)[4][4]) const {
    const auto along = [](float p, float q, float r, float(&to)[4]) {
      to[0] = p;
      to[1] = 0.5f * p + 0.5f * q + 0.5f * r;
      to[2] = 0.5f * p - 0.5f * q + 0.5f * r;
      to[3] = r;
    };
    const float* from = filters_of + k * f[0] + c * f[1];
    float rows[3][4];
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 3; ++a, from += f[2]) along(from[0], from[f[3]], from[2 * f[3]], rows[a]);
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      float column[4];
      along(rows[0][b], rows[1][b], rows[2][b], column);
      RIDGE_UNROLL_ON_GPU
      for (int a = 0; a < 4; ++a) sums[a][b] = column[a];
    }
  }

  // sums = A' m A for N neighbouring tiles.
  template <int N>
  __device__ __forceinline__ void transform_outputs(
      const float* m, unsigned k, unsigned tile,
      simt::vec<float, N> (&sums)[winograd_outputs][winograd_outputs]) const {
    const float* from = m + k * pitch + tile;
    simt::vec<float, N> rows[winograd_outputs][4];
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      simt::vec<float, N> column[4];
      RIDGE_UNROLL_ON_GPU
      for (int a = 0; a < 4; ++a) column[a] = simt::load<N>(from + (a * 4 + b) * (filters * pitch));
      RIDGE_UNROLL_ON_GPU
      for (int t = 0; t < N; ++t) {
        rows[0][b][t] = column[0][t] + column[1][t] + column[2][t];
        rows[1][b][t] = column[1][t] - column[2][t] - column[3][t];
      }
    }
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < winograd_outputs; ++a) RIDGE_UNROLL_ON_GPU
    for (int t = 0; t < N; ++t) {
      sums[a][0][t] = rows[a][0][t] + rows[a][1][t] + rows[a][2][t];
      sums[a][1][t] = rows[a][1][t] - rows[a][2][t] - rows[a][3][t];
    }
  }

  // The output (i, j) by definition.
  __device__ __forceinline__ float sum_of(const float* image, const float* filters_of, std::int64_t n, unsigned k,
                                          int i, int j) const {
    float sum = 0;
    RIDGE_KEEP_LOOP
    for (int term = 0; term < channels * 9; ++term) {
      const int c = term / 9, r = term / 3 % 3, s = term % 3;
      const int at_h = i + r - top, at_w = j + s - left;
      const bool inside = static_cast<unsigned>(at_h) < static_cast<unsigned>(h) &&
                          static_cast<unsigned>(at_w) < static_cast<unsigned>(w);
      const float input = inside ? image[n * x[0] + c * x[1] + at_h * x[2] + at_w * x[3]] : 0.0f;
      sum += input * filters_of[k * f[0] + c * f[1] + r * f[2] + s * f[3]];
    }
    return sum;
  }
};

// In NHWC: the threads of a block, and its transpose through shared memory.
template <class Policy> struct WinogradBlock {
  static constexpr int lanes = 32, groups = Policy::config.threads / lanes, together = gemm_kernels::fragment(f32);
  static constexpr int columns = groups * together;  // tiles or filters
  using Neighbours = simt::vec<float, together>;

  // to[e][row][column] = sums: a lane has a row and four columns. Rows and columns past the last are not stored.
  // to: the block's first element; plane, pitch: elements from product to product and from row to row.
  static __device__ __forceinline__ void store(const Neighbours (&sums)[4][4], float* to, std::int64_t plane,
                                               std::int64_t pitch, unsigned rows_left, unsigned columns_left) {
    alignas(16) __shared__ float buffer[4][lanes][columns + together];  // eight lanes' vectors in all banks
    const unsigned lane = threadIdx.x % lanes, group = threadIdx.x / lanes, row = threadIdx.x / groups,
                   column = threadIdx.x % groups * together;
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) {
      RIDGE_UNROLL_ON_GPU
      for (int b = 0; b < 4; ++b) simt::store(&buffer[b][lane][group * together], sums[a][b]);
      __syncthreads();
      if (row < rows_left && column < columns_left) {
        RIDGE_UNROLL_ON_GPU
        for (int b = 0; b < 4; ++b)
          simt::store_global(to + (a * 4 + b) * plane + row * pitch + column,
                             simt::load<together>(static_cast<const float*>(&buffer[b][row][column])));
      }
      __syncthreads();
    }
  }
};

// u = G w G'                                         w: [k, c, 3, 3] by its strides   u: [16][channels][filter_pitch]
// Preconditions: gridDim.x * threads covers channels * filters, below 2^31.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_filters(const float* w, float* u, WinogradShape p) {
  unsigned k = blockIdx.x * static_cast<unsigned>(Policy::config.threads) + threadIdx.x;
  const unsigned c = p.across_u.divide(k);
  if (c >= static_cast<unsigned>(p.channels)) return;
  float sums[4][4];
  p.transform_filter(w, k, c, sums);
  float* to = u + c * p.filter_pitch + k;
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < winograd_products; ++e) to[e * (p.channels * p.filter_pitch)] = sums[e / 4][e % 4];
}

// v = B' x B, of x with zeros around it              x: [n, c, h, w] by its strides   v: [16][channels][pitch]
// Preconditions: gridDim.x * threads covers channels * tiles, below 2^31.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_inputs(const float* x, float* v, WinogradShape p) {
  unsigned tile = blockIdx.x * static_cast<unsigned>(Policy::config.threads) + threadIdx.x;
  const unsigned c = p.across_v.divide(tile);
  if (c >= static_cast<unsigned>(p.channels)) return;
  float d[4][4];
  p.transform_inputs(x, tile, c, d);
  float* to = v + c * p.pitch + tile;
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < winograd_products; ++e) to[e * (p.channels * p.pitch)] = d[e / 4][e % 4];
}

// The same two for contiguous channels. Indices past the last are clamped to it and not stored; those of the last four
// tiles or filters are stored where no product reads.
// Preconditions: gridDim.x covers blocks of 32 channels x WinogradBlock::columns, below 2^31.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_filters_last(const float* w, float* u, WinogradShape p) {
  using Block = WinogradBlock<Policy>;
  unsigned block = blockIdx.x;
  const unsigned channels = static_cast<unsigned>(p.channels), filters = static_cast<unsigned>(p.filters);
  const unsigned first = p.across_u.divide(block) * Block::columns, first_c = block * Block::lanes;
  const unsigned c = ::min(first_c + threadIdx.x % Block::lanes, channels - 1),
                 mine = first + threadIdx.x / Block::lanes * Block::together;
  typename Block::Neighbours sums[4][4];
  RIDGE_UNROLL_ON_GPU
  for (int t = 0; t < Block::together; ++t) {
    float of_one[4][4];
    p.transform_filter(w, ::min(mine + t, filters - 1), c, of_one);
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < winograd_products; ++e) sums[e / 4][e % 4][t] = of_one[e / 4][e % 4];
  }
  Block::store(sums, u + first_c * p.filter_pitch + first, p.channels * p.filter_pitch, p.filter_pitch,
               channels - first_c, filters - first);
}

template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_inputs_last(const float* x, float* v, WinogradShape p) {
  using Block = WinogradBlock<Policy>;
  unsigned block = blockIdx.x;
  const unsigned channels = static_cast<unsigned>(p.channels);
  const unsigned first = p.across_v.divide(block) * Block::columns, first_c = block * Block::lanes;
  const unsigned c = ::min(first_c + threadIdx.x % Block::lanes, channels - 1),
                 mine = first + threadIdx.x / Block::lanes * Block::together;
  typename Block::Neighbours sums[4][4];
  RIDGE_UNROLL_ON_GPU
  for (int t = 0; t < Block::together; ++t) {
    float of_one[4][4];
    p.transform_inputs(x, ::min(mine + t, p.tiles - 1), c, of_one);
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < winograd_products; ++e) sums[e / 4][e % 4][t] = of_one[e / 4][e % 4];
  }
  Block::store(sums, v + first_c * p.pitch + first, p.channels * p.pitch, p.pitch, channels - first_c, p.tiles - first);
}

// Stores the sums of the 16 products to m: [16][filters][pitch]. The pitch is whole vectors.
struct WinogradProducts {
  float* m;
  std::int64_t pitch, filters;

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    simt::store(m + (at.batch * filters + at.row) * pitch + at.col, sums);
  }
};

// y = epilogue(A' m A)                               m: [16][filters][pitch]   y: [n, k, oh, ow] by its strides
// Preconditions: gridDim.x * threads covers filters * tiles, below 2^31; pairs: as WinogradShape says, y is on 8 bytes.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_outputs(const float* m, const float* x, const float* w, float* y, WinogradShape p,
                          Epilogue<float> epilogue) {
  constexpr int T = winograd_outputs;
  unsigned tile = blockIdx.x * static_cast<unsigned>(Policy::config.threads) + threadIdx.x;
  const unsigned k = p.across_y.divide(tile);
  if (k >= static_cast<unsigned>(p.filters)) return;
  int i, j;
  const std::int64_t n = p.coordinates(tile, i, j);
  simt::vec<float, 1> of_tile[T][T];
  p.transform_outputs(m, k, tile, of_tile);
  float sums[T * T];
  bool finite = true;
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < T * T; ++e) {
    sums[e] = of_tile[e / T][e % T][0];
    finite = finite && ::fabsf(sums[e]) < INFINITY;
  }
  simt::vec<float, T> row;
  float* to = y + n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3];
  // Each iteration rotates the sums by one and uses element 0, so that the epilogue's code is there once.
  RIDGE_KEEP_LOOP
  for (int iteration = 0; iteration < T * T; ++iteration) {
    const int a = iteration / T, b = iteration % T;
    if (i + a < p.oh && j + b < p.ow) {
      const float sum = finite ? sums[0] : p.sum_of(x, w, n, k, i + a, j + b);
      const float result = epilogue(sum, n, k, i + a, j + b);
      row[0] = row[1];
      row[1] = result;
      if (!p.pairs) to[a * p.y[2] + b * p.y[3]] = result;
      else if (b == 1) simt::store(to + a * p.y[2], row);
    }
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e + 1 < T * T; ++e) sums[e] = sums[e + 1];
  }
}

// The same for filters that are contiguous in y.
// Preconditions: gridDim.x covers blocks of 32 filters x WinogradBlock::columns tiles, below 2^31.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_winograd_outputs_last(const float* m, const float* x, const float* w, float* y, WinogradShape p,
                               Epilogue<float> epilogue) {
  constexpr int T = winograd_outputs;
  using Block = WinogradBlock<Policy>;
  __shared__ float buffer[T * T][Block::columns][Block::lanes + 1];  // a bank more to a tile
  unsigned block = blockIdx.x;
  const unsigned filters = static_cast<unsigned>(p.filters);
  const unsigned first = p.across_y.divide(block) * Block::columns, first_k = block * Block::lanes;
  {
    const unsigned row = threadIdx.x / Block::groups, column = threadIdx.x % Block::groups * Block::together;
    if (first_k + row < filters && first + column < p.tiles) {
      typename Block::Neighbours sums[T][T];
      p.transform_outputs(m, first_k + row, first + column, sums);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < T * T; ++e) RIDGE_UNROLL_ON_GPU
      for (int t = 0; t < Block::together; ++t) buffer[e][column + t][row] = sums[e / T][e % T][t];
    }
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % Block::lanes, k = first_k + lane;
  if (k >= filters) return;
  RIDGE_KEEP_LOOP
  for (int t = 0; t < Block::together; ++t) {
    const unsigned of_block = threadIdx.x / Block::lanes * Block::together + t, tile = first + of_block;
    if (tile >= p.tiles) return;
    int i, j;
    const std::int64_t n = p.coordinates(tile, i, j);
    float* to = y + n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3];
    bool finite = true;
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < T * T; ++e) finite = finite && ::fabsf(buffer[e][of_block][lane]) < INFINITY;
    RIDGE_KEEP_LOOP
    for (int iteration = 0; iteration < T * T; ++iteration) {
      const int a = iteration / T, b = iteration % T;
      if (i + a >= p.oh || j + b >= p.ow) continue;
      const float sum = finite ? buffer[iteration][of_block][lane] : p.sum_of(x, w, n, k, i + a, j + b);
      to[a * p.y[2] + b * p.y[3]] = epilogue(sum, n, k, i + a, j + b);
    }
  }
}

// Policy of gemm's kernel for a row of the table.
template <int I> struct WinogradPolicy {
  static constexpr gemm_kernels::Config config = winograd_tile(variants[I].config);
};

namespace winograd {

// The fields that all images share; launch_in_layout() sets those of one part of the images. lanes: lanes of a block
// that follow channels or filters; 0 where lanes follow tiles.
static inline WinogradShape shape_of(const Arguments& args, const WinogradParts& parts, int lanes) {
  const ConvProblem& p = args.plan.problem;
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0];
  WinogradShape s{.channels = whole(channels),
                  .filters = whole(filters),
                  .h = whole(p.x.shape[2]),
                  .w = whole(p.x.shape[3]),
                  .oh = whole(p.y.shape[2]),
                  .ow = whole(p.y.shape[3]),
                  .top = whole(p.geometry.pad.top),
                  .left = whole(p.geometry.pad.left),
                  .first = 0,
                  .pitch = parts.pitch,
                  .filter_pitch = parts.filter_pitch,
                  .tiles = 0,
                  .tiles_w = Divider(parts.tiles_w),
                  .tiles_h = Divider(parts.tiles_h),
                  .across_u = Divider(lanes > 0 ? ceil_div(channels, lanes) : filters),
                  .across_v = {},
                  .across_y = {}};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  s.pairs = has_vectors<2>(p.y, args.y);
  return s;
}

template <int I, bool ChannelsLast> static Status launch_in_layout(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  using Block = WinogradBlock<Policy<I>>;
  constexpr gemm_kernels::Major outer = gemm_kernels::Major::outer;
  const ConvProblem& p = args.plan.problem;
  const WinogradParts parts = winograd_parts(p);
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0];
  WinogradShape s = shape_of(args, parts, ChannelsLast ? Block::lanes : 0);
  const float *x = static_cast<const float*>(args.x), *w = static_cast<const float*>(args.w);
  float *u = static_cast<float*>(args.workspace), *v = u + parts.v_at, *m = u + parts.m_at;
  // rows: channels or filters, along which lanes go in NHWC; columns: tiles or filters.
  const auto grid = [&](std::int64_t rows, std::int64_t columns) {
    return launch_config(args, c.threads,
                         ChannelsLast ? ceil_div(rows, Block::lanes) * ceil_div(columns, Block::columns)
                                      : ceil_div(rows * columns, c.threads));
  };
  constexpr auto transform_filters =
      ChannelsLast ? conv_winograd_filters_last<Policy<I>> : conv_winograd_filters<Policy<I>>;
  constexpr auto transform_inputs =
      ChannelsLast ? conv_winograd_inputs_last<Policy<I>> : conv_winograd_inputs<Policy<I>>;
  constexpr auto transform_outputs =
      ChannelsLast ? conv_winograd_outputs_last<Policy<I>> : conv_winograd_outputs<Policy<I>>;
  RIDGE_TRY(simt::launch(grid(channels, filters), transform_filters, w, u, s));
  for (; s.first < p.y.shape[0]; s.first += parts.images) {
    const std::int64_t tiles = parts.tiles(std::min(parts.images, p.y.shape[0] - s.first));
    s.tiles = static_cast<unsigned>(tiles);
    s.across_v = Divider(ChannelsLast ? ceil_div(channels, Block::lanes) : tiles);
    s.across_y = Divider(ChannelsLast ? ceil_div(filters, Block::lanes) : tiles);
    RIDGE_TRY(simt::launch(grid(channels, tiles), transform_inputs, x, v, s));
    // m [filters, tiles] = u' v; channels are the rows of u and v.
    RIDGE_TRY((gemm_kernels::launch_thread_tile<WinogradPolicy<I>, float, outer, outer>(
        {u, 1, parts.filter_pitch, channels * parts.filter_pitch}, {v, 1, parts.pitch, channels * parts.pitch},
        {filters, tiles, channels, winograd_products}, WinogradProducts{m, parts.pitch, filters}, args.stream,
        args.plan.device.warp)));
    RIDGE_TRY(simt::launch(grid(filters, tiles), transform_outputs, static_cast<const float*>(m), x, w,
                           static_cast<float*>(args.y), s, epilogue_of<float>(args)));
  }
  return {};
}

template <int I> static Status launch(const Arguments& args) {
  return channels_last(args.plan.problem) ? launch_in_layout<I, true>(args) : launch_in_layout<I, false>(args);
}

}  // namespace winograd
}  // namespace ridge::conv_detail
