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
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/thread_tile.cuh>

#include <cmath>

namespace ridge::conv_detail {

struct WinogradShape {
  int channels, filters;
  int h, w, oh, ow, top, left;
  std::int64_t first;                // of this launch's images
  std::int64_t pitch, filter_pitch;  // of rows of tiles and of filters
  Divider tiles_w, tiles_h, all_tiles, all_filters;
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
// Preconditions: gridDim.x * threads covers channels * filters, below 2^31.
template <class Row>
__global__ void __launch_bounds__(Row::config.threads)
    conv_winograd_filters(const float* w, float* u, WinogradShape p) {
  unsigned k = blockIdx.x * static_cast<unsigned>(Row::config.threads) + threadIdx.x;
  const unsigned c = p.all_filters.divide(k);
  if (c >= static_cast<unsigned>(p.channels)) return;
  const auto along = [](float a, float b, float d, float(&to)[4]) {
    to[0] = a;
    to[1] = 0.5f * a + 0.5f * b + 0.5f * d;
    to[2] = 0.5f * a - 0.5f * b + 0.5f * d;
    to[3] = d;
  };
  const float* from = w + k * p.f[0] + c * p.f[1];
  float rows[3][4];
  RIDGE_UNROLL_ON_GPU
  for (int a = 0; a < 3; ++a, from += p.f[2]) along(from[0], from[p.f[3]], from[2 * p.f[3]], rows[a]);
  float* to = u + c * p.filter_pitch + k;
  RIDGE_UNROLL_ON_GPU
  for (int b = 0; b < 4; ++b) {
    float column[4];
    along(rows[0][b], rows[1][b], rows[2][b], column);
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) to[(a * 4 + b) * (p.channels * p.filter_pitch)] = column[a];
  }
}

// v = B' x B, of x with zeros around it              x: [n, c, h, w] by its strides   v: [16][channels][pitch]
// Preconditions: gridDim.x * threads covers channels * tiles, below 2^31.
template <class Row>
__global__ void __launch_bounds__(Row::config.threads) conv_winograd_inputs(const float* x, float* v, WinogradShape p) {
  unsigned tile = blockIdx.x * static_cast<unsigned>(Row::config.threads) + threadIdx.x;
  const unsigned c = p.all_tiles.divide(tile);
  if (c >= static_cast<unsigned>(p.channels)) return;
  int i, j;
  const std::int64_t n = p.place(tile, i, j);
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
  float* to = v + c * p.pitch + tile;
  RIDGE_UNROLL_ON_GPU
  for (int b = 0; b < 4; ++b) {
    along(d[0][b], d[1][b], d[2][b], d[3][b]);
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) to[(a * 4 + b) * (p.channels * p.pitch)] = d[a][b];
  }
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
// Preconditions: gridDim.x * threads covers filters * tiles, below 2^31; pairs: as WinogradShape says, y is on 8 bytes.
template <class Row>
__global__ void __launch_bounds__(Row::config.threads)
    conv_winograd_outputs(const float* m, const float* x, const float* w, float* y, WinogradShape p,
                          Epilogue<float> epilogue) {
  constexpr int T = winograd_outputs;
  unsigned tile = blockIdx.x * static_cast<unsigned>(Row::config.threads) + threadIdx.x;
  const unsigned k = p.all_tiles.divide(tile);
  if (k >= static_cast<unsigned>(p.filters)) return;
  int i, j;
  const std::int64_t n = p.place(tile, i, j);

  const float* from = m + k * p.pitch + tile;
  float rows[T][4], sums[T * T];
  RIDGE_UNROLL_ON_GPU
  for (int b = 0; b < 4; ++b) {
    float column[4];
    RIDGE_UNROLL_ON_GPU
    for (int a = 0; a < 4; ++a) column[a] = from[(a * 4 + b) * (p.filters * p.pitch)];
    rows[0][b] = column[0] + column[1] + column[2];
    rows[1][b] = column[1] - column[2] - column[3];
  }
  bool finite = true;
  RIDGE_UNROLL_ON_GPU
  for (int a = 0; a < T; ++a) {
    sums[a * T] = rows[a][0] + rows[a][1] + rows[a][2];
    sums[a * T + 1] = rows[a][1] - rows[a][2] - rows[a][3];
    finite = finite && ::fabsf(sums[a * T]) < INFINITY && ::fabsf(sums[a * T + 1]) < INFINITY;
  }
  simt::vec<float, T> row;
  float* to = y + n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3];
  // The outputs take turns at place 0, so that the epilogue's code is there once.
  RIDGE_KEEP_LOOP
  for (int turn = 0; turn < T * T; ++turn) {
    const int a = turn / T, b = turn % T;
    if (i + a < p.oh && j + b < p.ow) {
      float sum = sums[0];
      if (!finite) {
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
    for (int e = 0; e + 1 < T * T; ++e) sums[e] = sums[e + 1];
  }
}

}  // namespace ridge::conv_detail
