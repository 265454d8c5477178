// Twice the size: a tile of x in each thread's registers.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/rows_x2.hpp>
#include <ridge/upsample/twice.cuh>

namespace ridge::upsample_detail {

// Along a row: two means for each of H pixels, from these and one on either side.
template <int H> __device__ __forceinline__ void means_of_row(const float (&x)[H + 2], float (&y)[2 * H]) {
#pragma unroll
  for (int k = 0; k < H; ++k) {
    y[2 * k] = blend(x[k], x[k + 1], near);
    y[2 * k + 1] = blend(x[k + 1], x[k + 2], far);
  }
}

// y[n, c, i, j] = a pixel of x, or the mean of four    x: [n, c, h, w]  y: [n, c, 2 h, 2 w], rows contiguous
// A thread computes 2 Config::rows rows of V columns of y. For means it reads a row and a column on either side too,
// which other threads bring into the L1 cache; beyond the edge, the edge stands for them.
// Preconditions: gridDim.x * threads covers items < 2^31; rows of x are whole pieces of 8 bytes on 8-byte addresses,
// and rows of y start on 16 bytes.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_rows_x2(const T* x, T* y, TwiceShape p) {
  constexpr int V = tile::vector_elements<T>, H = V / 2, R = Policy::config.rows;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  const TileOfTwice tile_of_x = TileOfTwice::of<H, R>(p, item);
  const int first_row = tile_of_x.row, first_col = tile_of_x.column;
  x += tile_of_x.plane(p.x) + first_col;
  y += tile_of_x.plane(p.y) + 2 * first_col;

  if constexpr (!M::blends) {
    simt::vec<T, H> in[R];
#pragma unroll
    for (int r = 0; r < R; ++r) in[r] = simt::load<H>(x + min(first_row + r, p.h - 1) * p.x[2]);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      tile::Vector<T> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = in[r][v / 2];
      if (first_row + r >= p.h) break;
      T* row = y + 2 * (first_row + r) * p.y[2];
      tile::store_packed(row, tile::pack<T>(out));
      tile::store_packed(row + p.y[2], tile::pack<T>(out));
    }
  } else {
    // ---- load: rows first_row - 1 ... first_row + R of x
    constexpr int in_rows = R + 2;
    simt::vec<T, H> in[in_rows];
    T left[in_rows], right[in_rows];
#pragma unroll
    for (int r = 0; r < in_rows; ++r) in[r] = simt::load<H>(x + max(0, min(first_row - 1 + r, p.h - 1)) * p.x[2]);
#pragma unroll
    for (int r = 0; r < in_rows; ++r) {
      const T* row = x + max(0, min(first_row - 1 + r, p.h - 1)) * p.x[2];
      left[r] = first_col > 0 ? row[-1] : in[r][0];
      right[r] = first_col + H < p.w ? row[H] : in[r][H - 1];
    }
    // ---- compute: a row of x gives means along columns once; two of them, before and behind, give two rows of y
    float means[2][V] = {};
    const auto store = [&](int row, const float(&before)[V], const float(&behind)[V], float weight_behind) {
      tile::Floats<T> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = blend(before[v], behind[v], weight_behind);
      if (row < 2 * p.h) tile::store_packed(y + row * p.y[2], tile::pack_floats<T>(out));
    };
#pragma unroll
    for (int r = 0; r < in_rows; ++r) {
      float pixels[H + 2], middle[H];
      tile::to_floats<T, H>(in[r], middle);
      pixels[0] = float(left[r]);
#pragma unroll
      for (int k = 0; k < H; ++k) pixels[k + 1] = middle[k];
      pixels[H + 1] = float(right[r]);
      means_of_row<H>(pixels, means[r % 2]);
      const int row = 2 * (first_row - 1 + r);  // of y: the first of the two that lie at row r
      if (r >= 2) store(row - 1, means[(r + 1) % 2], means[r % 2], far);
      if (r >= 1 && r <= R) store(row, means[(r + 1) % 2], means[r % 2], near);
    }
  }
}

namespace rows_x2 {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  return simt::launch(launch_config(call), upsample_rows_x2<Policy, M, T>, call.in, call.out,
                      twice_shape(p, columns_of(p), c.rows, items_of(c, p)));
}

}  // namespace rows_x2
}  // namespace ridge::upsample_detail
