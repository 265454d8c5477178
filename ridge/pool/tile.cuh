// A tile of outputs in each thread's registers, of rows that start and end on 16-byte vectors.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>
#include <ridge/pool/tile.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::pool_detail {

using tile::Packed;

struct TileShape {
  int h, w, oh, ow;
  unsigned items;
  Divider across, down;  // by threads per row of outputs, by rows of threads per plane
  std::int64_t plane_x, row_x, plane_y, row_y;
  bool vector_stores;  // rows of y start on 16 bytes
  bool count_include_pad;
};

// y[plane, i, j] = F of a window of x, Config::size square, with its stride and padding
//                                                       x: [planes, h, w]  y: [planes, oh, ow], rows contiguous
// A thread computes rows x V neighbouring outputs. Each of its input rows is read once: S vectors of V elements, and
// the halo, an element on either side, which other threads bring into the L1 cache.
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30; vector_loads(); not clips().
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    pool_tile(const T* x, T* y, TileShape p) {
  constexpr int K = Policy::config.size, S = Policy::config.stride, P = Policy::config.pad, R = Policy::config.rows;
  constexpr int V = tile::vector_elements<T>;
  constexpr int in_rows = (R - 1) * S + K, left = P, right = K - P - S;
  static_assert(left >= 0 && left <= 1 && right >= 0 && right <= 1, "one element on either side at most");

  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned across = item;
  unsigned down = p.across.divide(across);
  const unsigned plane = p.down.divide(down);
  const int first_row = static_cast<int>(down) * R, first_col = static_cast<int>(across) * V;
  const int col = first_col * S;  // column of x at which the vectors begin
  x += plane * p.plane_x + col;
  y += plane * p.plane_y + first_row * p.row_y + first_col;

  // ---- load: everything before the first use
  const T none = T(F::neutral());
  const Packed nothing = tile::packed_fill<T>(F::neutral());
  Packed vectors[in_rows][S];
  T before[in_rows], after[in_rows];
  const auto row_of = [&](int i) { return first_row * S - P + i; };
  const auto inside = [&](int i) { return static_cast<unsigned>(row_of(i)) < static_cast<unsigned>(p.h); };
#pragma unroll
  for (int i = 0; i < in_rows; ++i)
#pragma unroll
    for (int u = 0; u < S; ++u)
      vectors[i][u] = inside(i) && col + u * V < p.w ? tile::load_packed(x + row_of(i) * p.row_x + u * V) : nothing;
#pragma unroll
  for (int i = 0; i < in_rows; ++i) {
    before[i] = left && inside(i) && col > 0 && col <= p.w ? x[row_of(i) * p.row_x - 1] : none;
    after[i] = right && inside(i) && col + S * V < p.w ? x[row_of(i) * p.row_x + S * V] : none;
  }

  // ---- compute: reduce each input row along its columns once, then combine it into all outputs that contain it
  float result[R][V];
#pragma unroll
  for (int i = 0; i < in_rows; ++i) {
    float in[left + S * V + right];
    if constexpr (left > 0) in[0] = float(before[i]);
#pragma unroll
    for (int u = 0; u < S; ++u) {
      const tile::Floats<T> vector = tile::unpack_floats<T>(vectors[i][u]);
#pragma unroll
      for (int v = 0; v < V; ++v) in[left + u * V + v] = vector[v];
    }
    if constexpr (right > 0) in[left + S * V] = float(after[i]);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float reduced = in[v * S];
#pragma unroll
      for (int b = 1; b < K; ++b) reduced = F::combine(reduced, in[v * S + b]);
#pragma unroll
      for (int o = 0; o < R; ++o) {
        if (i == o * S) result[o][v] = reduced;
        else if (i > o * S && i < o * S + K) result[o][v] = F::combine(result[o][v], reduced);
      }
    }
  }

  // ---- finish
#pragma unroll
  for (int o = 0; o < R; ++o) {
    tile::Floats<T> out;
    const int rows = taps_inside(row_of(o * S), K, p.h);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float count = float(K * K), reciprocal = 1.0f / float(K * K);
      if (F::counts && !p.count_include_pad) {
        count = float(rows * taps_inside(col + v * S - P, K, p.w));
        reciprocal = 1.0f / count;
      }
      out[v] = F::template finish<T>(result[o][v], count, reciprocal);
    }
    T* row = y + o * p.row_y;
    const bool exists = first_row + o < p.oh;
    if (exists && p.vector_stores && first_col + V <= p.ow) {
      tile::store_packed(row, tile::pack_floats<T>(out));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (exists && first_col + v < p.ow) row[v] = T(out[v]);
    }
  }
}

namespace tiled {

template <class Policy, class F, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const TileShape s{.h = whole(p.x.shape[2]),
                    .w = whole(p.x.shape[3]),
                    .oh = whole(p.y.shape[2]),
                    .ow = whole(p.y.shape[3]),
                    .items = static_cast<unsigned>(items_of(c, p)),
                    .across = Divider(ceil_div(p.y.shape[3], vector_elements(p.dtype))),
                    .down = Divider(ceil_div(p.y.shape[2], c.rows)),
                    .plane_x = *plane_pitch(p.x),
                    .row_x = p.x.stride[2],
                    .plane_y = *plane_pitch(p.y),
                    .row_y = p.y.stride[2],
                    .vector_stores = vector_stores(p),
                    .count_include_pad = counts_padding(p)};
  return simt::launch(launch_config(call), pool_tile<Policy, F, T>, call.x, call.y, s);
}

}  // namespace tiled
}  // namespace ridge::pool_detail
