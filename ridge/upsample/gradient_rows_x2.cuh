// The gradient of twice the size: a tile of dy in each thread's registers.
#pragma once
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/gradient_rows_x2.hpp>
#include <ridge/upsample/twice.cuh>

namespace ridge::upsample_detail {

// dx[n, c, a, b] = the sum of its readers in dy, weighted    dy: [n, c, 2 h, 2 w]  dx: [n, c, h, w], rows contiguous
// A thread computes Config::rows rows of H columns of dx. Where they are weighted, it reads a row and a column of dy on
// either side too, which other threads bring into the L1 cache; beyond the edge, the edge stands for them, so that it
// has all of its weight.
// Preconditions: gridDim.x * threads covers items < 2^31; rows of dx are whole pieces of 8 bytes on 8-byte addresses,
// and rows of dy start on 16 bytes.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_gradient_rows_x2(const T* dy, T* dx, TwiceShape p) {
  constexpr int V = tile::vector_elements<T>, H = V / 2, R = Policy::config.rows;
  using Terms = TermsOfTwice<M>;
  constexpr int halo = Terms::halo, in_rows = 2 * R + 2 * halo;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  const TileOfTwice tile_of_dx = TileOfTwice::of<H, R>(p, item);
  const int first_row = tile_of_dx.row, first_col = tile_of_dx.column;
  dy += tile_of_dx.plane(p.y) + 2 * first_col;
  dx += tile_of_dx.plane(p.x) + first_col;

  // ---- load: rows 2 first_row - halo ... of dy
  tile::Packed in[in_rows];
  [[maybe_unused]] T left[in_rows], right[in_rows];
  const auto row_of = [&](int k) { return dy + max(0, min(2 * first_row - halo + k, 2 * p.h - 1)) * p.y[2]; };
  const bool has_left = halo && first_col > 0, has_right = halo && first_col + H < p.w;
#pragma unroll
  for (int k = 0; k < in_rows; ++k) in[k] = tile::load_packed(row_of(k));
#pragma unroll
  for (int k = 0; k < in_rows; ++k) {
    left[k] = has_left ? row_of(k)[-1] : T(0.0f);
    right[k] = has_right ? row_of(k)[V] : T(0.0f);
  }

  // ---- compute: what a row of dy gives along columns, once; then what it gives to each row of dx that it is a term of
  float sums[R][H] = {};
#pragma unroll
  for (int k = 0; k < in_rows; ++k) {
    const tile::Floats<T> row = tile::unpack_floats<T>(in[k]);
    float pixels[V + 2 * halo], along[H];
#pragma unroll
    for (int v = 0; v < V; ++v) pixels[halo + v] = row[v];
    if constexpr (halo > 0) {
      pixels[0] = has_left ? float(left[k]) : row[0];
      pixels[V + 1] = has_right ? float(right[k]) : row[V - 1];
    }
#pragma unroll
    for (int c = 0; c < H; ++c) {
      along[c] = 0;
#pragma unroll
      for (int t = 0; t < Terms::count; ++t) along[c] = fmaf(Terms::weight(t), pixels[2 * c + t], along[c]);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int t = k - 2 * r;
      if (t < 0 || t >= Terms::count) continue;
#pragma unroll
      for (int c = 0; c < H; ++c) sums[r][c] = fmaf(Terms::weight(t), along[c], sums[r][c]);
    }
  }

  // ---- store
#pragma unroll
  for (int r = 0; r < R; ++r) {
    simt::vec<T, H> out;
#pragma unroll
    for (int c = 0; c < H; ++c) out[c] = T(sums[r][c]);
    if (first_row + r < p.h) simt::store_global(dx + (first_row + r) * p.x[2], out);
  }
}

namespace gradient_rows_x2 {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  return simt::launch(launch_config(call), upsample_gradient_rows_x2<Policy, M, T>, call.in, call.out,
                      twice_shape(p, columns_of(p), c.rows, items_of(c, p)));
}

}  // namespace gradient_rows_x2
}  // namespace ridge::upsample_detail
