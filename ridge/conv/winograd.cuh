// Winograd's convolution with filters of 3 x 3, in float32: F(2x2, 3x3). Of each 4 x 4 inputs, whose filter windows
// give 2 x 2 outputs, sums and differences are multiplied with those of the filters: 16 products for 36 multiply-adds.
// Over all places and channels these are 16 matrix products, which gemm's kernel computes (gemm/thread_tile.cuh):
//
//   u [16][channels][filters] = G w G'        v [16][channels][tiles] = B' x B
//   m [16][filters][tiles] = u' v             y = A' m A
//
//        1             0                1  0 -1  0               1  1  1  0
//   G =  1/2  1/2  1/2             B' = 0  1  1  0          A' = 0  1 -1 -1
//        1/2 -1/2  1/2                  0 -1  1  0
//        0    0    1                    0  1  0 -1
//
// Sums and differences are float32's, and so are the products; G's halves are exact. Their errors are bounded by the 4
// x 4 inputs' magnitudes where the plain sum's are by its own 3 x 3's. What is not finite, or overflows on the way,
// would reach outputs that it is no part of: where an output of a tile is not finite, the tile's are computed again, by
// definition.
//
// Lanes follow what is contiguous. In NCHW a thread has a tile, and lanes follow tiles (and filters). In NHWC lanes follow
// channels, and filters in y; a thread has four neighbouring tiles or filters, whose places in u, v and m are neighbours,
// so that the products are the same kernel's.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/thread_tile.cuh>

#include <cmath>

namespace ridge::conv_detail {

// Of a thread: filters that it turns, or tiles.
constexpr int winograd_together(bool channels_last) { return channels_last ? gemm_kernels::fragment(f32) : 1; }

// Row's transforms, in either layout.
template <class Row, bool ChannelsLast> struct WinogradThreads {
  static constexpr int threads = Row::config.threads, together = winograd_together(ChannelsLast);
  using Neighbours = simt::vec<float, together>;
};

struct WinogradShape {
  int channels, filters;
  int h, w, oh, ow, top, left;
  std::int64_t first;                // of this launch's images
  std::int64_t pitch, filter_pitch;  // of rows of tiles and of filters
  unsigned tiles;                    // of this launch
  Divider tiles_w, tiles_h;
  Divider lanes_u, lanes_v, lanes_y;  // what lanes follow, while they make it
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
  bool pairs = false;  // outputs of a row are stored by two

  // Of tile t: its image among the tensor's, and its first output.
  __device__ __forceinline__ std::int64_t place(unsigned t, int& i, int& j) const {
    unsigned row = tiles_w.divide(t);
    const unsigned n = tiles_h.divide(row);
    i = static_cast<int>(row) * winograd_outputs;
    j = static_cast<int>(t) * winograd_outputs;
    return first + n;
  }
};

// u = G w G'                                         w: [k, c, 3, 3] by its strides   u: [16][channels][filter_pitch]
// Preconditions: gridDim.x * threads covers channels * filters, or with channels last each four of these, below 2^31.
template <class Row, bool ChannelsLast>
__global__ void __launch_bounds__(Row::config.threads)
    conv_winograd_filters(const float* w, float* u, WinogradShape p) {
  using Threads = WinogradThreads<Row, ChannelsLast>;
  constexpr int N = Threads::together;
  unsigned lane = blockIdx.x * static_cast<unsigned>(Threads::threads) + threadIdx.x;
  const unsigned other = p.lanes_u.divide(lane), c = ChannelsLast ? lane : other, k = (ChannelsLast ? other : lane) * N;
  if (c >= static_cast<unsigned>(p.channels) || k >= static_cast<unsigned>(p.filters)) return;
  const auto along = [](float a, float b, float d, float(&to)[4]) {
    to[0] = a;
    to[1] = 0.5f * a + 0.5f * b + 0.5f * d;
    to[2] = 0.5f * a - 0.5f * b + 0.5f * d;
    to[3] = d;
  };
  typename Threads::Neighbours sums[4][4];
  RIDGE_UNROLL_ON_GPU
  for (int n = 0; n < N; ++n) {
    // Beyond the last filter: that one again, whose place in u no product reads.
    const int filter = ::min(static_cast<int>(k) + n, p.filters - 1);
    const float* from = w + filter * p.f[0] + c * p.f[1];
    float rows[3][4];
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 3; ++a, from += p.f[2]) along(from[0], from[p.f[3]], from[2 * p.f[3]], rows[a]);
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      float column[4];
      along(rows[0][b], rows[1][b], rows[2][b], column);
      RIDGE_UNROLL_ON_GPU
      for (int a = 0; a < 4; ++a) sums[a][b][n] = column[a];
    }
  }
  float* to = u + c * p.filter_pitch + k;
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < winograd_products; ++e) simt::store(to + e * (p.channels * p.filter_pitch), sums[e / 4][e % 4]);
}

// v = B' x B, of x with zeros around it              x: [n, c, h, w] by its strides   v: [16][channels][pitch]
// Preconditions: gridDim.x * threads covers channels * tiles, or with channels last each four of these, below 2^31.
template <class Row, bool ChannelsLast>
__global__ void __launch_bounds__(Row::config.threads) conv_winograd_inputs(const float* x, float* v, WinogradShape p) {
  using Threads = WinogradThreads<Row, ChannelsLast>;
  constexpr int N = Threads::together;
  unsigned lane = blockIdx.x * static_cast<unsigned>(Threads::threads) + threadIdx.x;
  const unsigned other = p.lanes_v.divide(lane), c = ChannelsLast ? lane : other,
                 first = (ChannelsLast ? other : lane) * N;
  if (c >= static_cast<unsigned>(p.channels) || first >= p.tiles) return;
  typename Threads::Neighbours sums[4][4];
  RIDGE_UNROLL_ON_GPU
  for (int t = 0; t < N; ++t) {
    int i, j;
    const std::int64_t n =
        p.place(first + t < p.tiles ? first + t : p.tiles - 1, i, j);  // beyond the last: that one again
    i -= p.top;
    j -= p.left;
    const float* from = x + n * p.x[0] + c * p.x[1] + i * p.x[2] + j * p.x[3];  // may be outside, and is not read there
    float d[4][4];
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      const bool inside = static_cast<unsigned>(i + a) < static_cast<unsigned>(p.h) &&
                          static_cast<unsigned>(j + b) < static_cast<unsigned>(p.w);
      d[a][b] = inside ? from[a * p.x[2] + b * p.x[3]] : 0.0f;
    }
    const auto along = [](float& a, float& b, float& e, float& f) {
      const float second = b + e, third = e - b, fourth = b - f;
      a -= e;
      b = second;
      e = third;
      f = fourth;
    };
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) along(d[a][0], d[a][1], d[a][2], d[a][3]);
    RIDGE_UNROLL_ON_GPU
    for (int b = 0; b < 4; ++b) {
      along(d[0][b], d[1][b], d[2][b], d[3][b]);
      RIDGE_UNROLL_ON_GPU
      for (int a = 0; a < 4; ++a) sums[a][b][t] = d[a][b];
    }
  }
  float* to = v + c * p.pitch + first;
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < winograd_products; ++e) simt::store(to + e * (p.channels * p.pitch), sums[e / 4][e % 4]);
}

// Sums of the 16 products on their way to m: [16][filters][pitch]. The pitch is whole vectors.
struct WinogradProducts {
  float* m;
  std::int64_t pitch, filters;

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    simt::store(m + (at.batch * filters + at.row) * pitch + at.col, sums);
  }
};

// y = epilogue(A' m A)                               m: [16][filters][pitch]   y: [n, k, oh, ow] by its strides
// Preconditions: gridDim.x * threads covers filters * tiles, or with channels last each four of these, below 2^31; pairs:
// as WinogradShape says, y is on 8 bytes.
template <class Row, bool ChannelsLast>
__global__ void __launch_bounds__(Row::config.threads)
    conv_winograd_outputs(const float* m, const float* x, const float* w, float* y, WinogradShape p,
                          Epilogue<float> epilogue) {
  constexpr int T = winograd_outputs;
  using Threads = WinogradThreads<Row, ChannelsLast>;
  constexpr int N = Threads::together, outputs = N * T * T;
  unsigned lane = blockIdx.x * static_cast<unsigned>(Threads::threads) + threadIdx.x;
  const unsigned other = p.lanes_y.divide(lane), k = ChannelsLast ? lane : other,
                 first = (ChannelsLast ? other : lane) * N;
  if (k >= static_cast<unsigned>(p.filters) || first >= p.tiles) return;

  const float* from = m + k * p.pitch + first;
  typename Threads::Neighbours rows[T][4];
  RIDGE_UNROLL_ON_GPU
  for (int b = 0; b < 4; ++b) {
    typename Threads::Neighbours column[4];
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) column[a] = simt::load<N>(from + (a * 4 + b) * (p.filters * p.pitch));
    RIDGE_UNROLL_ON_GPU
    for (int t = 0; t < N; ++t) {
      rows[0][b][t] = column[0][t] + column[1][t] + column[2][t];
      rows[1][b][t] = column[1][t] - column[2][t] - column[3][t];
    }
  }
  float sums[outputs];
  unsigned finite = 0;  // a bit for each tile
  RIDGE_UNROLL_ON_GPU
  for (int t = 0; t < N; ++t) {
    bool all = true;
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < T; ++a) {
      float* to = sums + (t * T + a) * T;
      to[0] = rows[a][0][t] + rows[a][1][t] + rows[a][2][t];
      to[1] = rows[a][1][t] - rows[a][2][t] - rows[a][3][t];
      all = all && ::fabsf(to[0]) < INFINITY && ::fabsf(to[1]) < INFINITY;
    }
    finite |= (all ? 1u : 0u) << t;
  }
  simt::vec<float, T> row;
  // The outputs take turns at place 0, so that the epilogue's code is there once.
  RIDGE_KEEP_LOOP
  for (int turn = 0; turn < outputs; ++turn) {
    const int tile = turn / (T * T), a = turn / T % T, b = turn % T;
    if (first + tile >= p.tiles) break;
    int i, j;
    const std::int64_t n = p.place(first + tile, i, j);
    float* to = y + n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3];
    if (i + a < p.oh && j + b < p.ow) {
      float sum = sums[0];
      if (!(finite >> tile & 1)) {
        sum = 0;
        RIDGE_KEEP_LOOP
        for (int term = 0; term < p.channels * 9; ++term) {
          const int c = term / 9, r = term / 3 % 3, s = term % 3;
          const int h = i + a + r - p.top, v = j + b + s - p.left;
          const bool inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h) &&
                              static_cast<unsigned>(v) < static_cast<unsigned>(p.w);
          const float input = inside ? x[n * p.x[0] + c * p.x[1] + h * p.x[2] + v * p.x[3]] : 0.0f;
          sum += input * w[k * p.f[0] + c * p.f[1] + r * p.f[2] + s * p.f[3]];
        }
      }
      const float result = epilogue(sum, n, k, i + a, j + b);
      row[0] = row[1];
      row[1] = result;
      if (!p.pairs) to[a * p.y[2] + b * p.y[3]] = result;
      else if (b == 1) simt::store(to + a * p.y[2], row);
    }
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e + 1 < outputs; ++e) sums[e] = sums[e + 1];
  }
}

}  // namespace ridge::conv_detail
