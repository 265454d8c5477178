// Kernels that compute outputs in registers: a column or a tile of them per thread, or 16 bytes of channels.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/variants.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::pool_detail {

using tile::Packed;

struct ColumnShape {
  int h, w, oh, ow, pad_h, pad_w;
  unsigned items;
  Divider across, down, channels;  // by outputs per row, by threads per column of outputs, by channels
  bool count_include_pad;
  std::int64_t x[4] = {}, y[4] = {};
};

// y[n, c, i, j] = F of a window of x, Config::size square, with its stride
//                                                       x: [n, c, h, w]  y: [n, c, oh, ow], any strides and padding
// A thread computes Config::rows outputs of a column; each of its input rows is read and reduced once.
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads) pool_column(const T* x, T* y, ColumnShape p) {
  constexpr int K = Policy::config.size, S = Policy::config.stride, R = Policy::config.rows, in_rows = (R - 1) * S + K;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned col = item;
  unsigned down = p.across.divide(col);
  unsigned channel = p.down.divide(down);
  const unsigned image = p.channels.divide(channel);
  const int first_row = static_cast<int>(down) * R;
  const int top = first_row * S - p.pad_h, left = static_cast<int>(col) * S - p.pad_w;
  x += image * p.x[0] + channel * p.x[1];
  y += image * p.y[0] + channel * p.y[1] + first_row * p.y[2] + col * p.y[3];

  T in[in_rows][K];
#pragma unroll
  for (int i = 0; i < in_rows; ++i)
#pragma unroll
    for (int b = 0; b < K; ++b) {
      const bool inside = static_cast<unsigned>(top + i) < static_cast<unsigned>(p.h) &&
                          static_cast<unsigned>(left + b) < static_cast<unsigned>(p.w);
      in[i][b] = inside ? x[(top + i) * p.x[2] + (left + b) * p.x[3]] : T(F::neutral());
    }
  float row[in_rows];
#pragma unroll
  for (int i = 0; i < in_rows; ++i) {
    row[i] = float(in[i][0]);
#pragma unroll
    for (int b = 1; b < K; ++b) row[i] = F::combine(row[i], float(in[i][b]));
  }
#pragma unroll
  for (int o = 0; o < R; ++o) {
    float result = row[o * S];
#pragma unroll
    for (int a = 1; a < K; ++a) result = F::combine(result, row[o * S + a]);
    float count = float(K * K);
    if (F::counts && !p.count_include_pad) count = float(taps_inside(top + o * S, K, p.h) * taps_inside(left, K, p.w));
    if (first_row + o < p.oh) y[o * p.y[2]] = T(F::template finish<T>(result, count, 1.0f / count));
  }
}

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
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30; vector_loads().
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

struct ChannelsShape {
  int h, w, oh, ow;
  unsigned items;
  // By vectors of channels, by threads per row of outputs, and per column (`below` of them together).
  Divider vectors, across, down;
  int r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  bool count_include_pad;
  std::int64_t x[3], y[3];  // strides of n, h, w
};

// y[n, i, j, c] = F of a window of x, V channels per thread, of Config::rows x Config::columns neighbouring outputs.
//                                                     x: [n, h, w, c]  y: [n, oh, ow, c], channels contiguous
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30; all steps are whole vectors of 16 bytes. A
// table row with a size takes only that size, without dilation; one with a stride only that stride; several outputs
// need both. Threads are ordered along channels, then `below` of them down a column of outputs, then along rows.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    pool_channels(const T* x, T* y, ChannelsShape p) {
  constexpr int K = Policy::config.size, S = Policy::config.stride > 0 ? Policy::config.stride : 1;
  constexpr int R = Policy::config.rows, C = Policy::config.columns, V = tile::vector_elements<T>;
  constexpr unsigned B = sizeof(T) == 2 ? Policy::config.below_16bit : Policy::config.below;
  static_assert(R * C == 1 || (K > 0 && Policy::config.stride > 0), "what outputs share is known by size and stride");
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned j = p.vectors.divide(vector);
  const unsigned lower = j % B;
  j /= B;
  unsigned i = p.across.divide(j);
  const unsigned n = p.down.divide(i);
  const int first_row = static_cast<int>(i * B + lower) * R, first_col = static_cast<int>(j) * C;
  if (B > 1 && first_row >= p.oh) return;
  const int top = first_row * p.stride_h - p.pad_h, left = first_col * p.stride_w - p.pad_w;
  x += n * p.x[0] + vector * V;
  y += n * p.y[0] + first_row * p.y[1] + first_col * p.y[2] + vector * V;

  const Packed nothing = tile::packed_fill<T>(F::neutral());
  const auto load = [&](int row, int col) {
    const bool inside = static_cast<unsigned>(row) < static_cast<unsigned>(p.h) &&
                        static_cast<unsigned>(col) < static_cast<unsigned>(p.w);
    return inside ? tile::load_packed(x + row * p.x[1] + col * p.x[2]) : nothing;
  };
  const auto finish = [&](int o, int c, const Channels<F, T>& result) {
    float count = float(p.r) * float(p.s);
    if (F::counts && !p.count_include_pad)
      count = float(taps_inside(top + o * S, p.r, p.h)) * float(taps_inside(left + c * S, p.s, p.w));
    if (first_row + o < p.oh && (C == 1 || first_col + c < p.ow))
      tile::store_packed(y + o * p.y[1] + c * p.y[2], result.finish(count, F::counts ? 1.0f / count : 0.0f));
  };
  if constexpr (K > 0) {
    // By input rows: each is reduced once, for all outputs that contain it, while the next ones are in flight.
    constexpr int in_rows = (R - 1) * S + K, in_cols = (C - 1) * S + K;
    constexpr int in_flight = Policy::config.rows_in_flight < in_rows ? Policy::config.rows_in_flight : in_rows;
    Packed in[in_rows][in_cols];
    Channels<F, T> result[R][C];
#pragma unroll
    for (int next = 0; next < in_rows + in_flight; ++next) {
      if (next < in_rows) {
#pragma unroll
        for (int b = 0; b < in_cols; ++b) in[next][b] = load(top + next, left + b);
      }
      const int a = next - in_flight;
      if (a < 0) continue;
      Channels<F, T> of[in_cols], row[C];
#pragma unroll
      for (int b = 0; b < in_cols; ++b) of[b] = Channels<F, T>(in[a][b]);
      if constexpr (C % 2 == 0 && K == 3 && S == 1) {
#pragma unroll
        for (int c = 0; c < C; c += 2) {  // computes the part that two windows share once
          row[c] = of[c + 1];
          row[c].combine(of[c + 2]);
          row[c + 1] = row[c];
          row[c].combine(of[c]);
          row[c + 1].combine(of[c + 3]);
        }
      } else {
#pragma unroll
        for (int c = 0; c < C; ++c) {
          row[c] = of[c * S];
#pragma unroll
          for (int b = 1; b < K; ++b) row[c].combine(of[c * S + b]);
        }
      }
#pragma unroll
      for (int o = 0; o < R; ++o) {
        const int tap = a - o * S;
#pragma unroll
        for (int c = 0; c < C; ++c) {
          if (tap == 0) result[o][c] = row[c];
          else if (tap > 0 && tap < K) result[o][c].combine(row[c]);
          if (tap == K - 1) finish(o, c, result[o][c]);
        }
      }
    }
  } else {
    Channels<F, T> result(nothing);
    for (int a = 0; a < p.r; ++a)
#pragma unroll 4
      for (int b = 0; b < p.s; ++b)
        result.combine(Channels<F, T>(load(top + a * p.dilation_h, left + b * p.dilation_w)));
    finish(0, 0, result);
  }
}

}  // namespace ridge::pool_detail
