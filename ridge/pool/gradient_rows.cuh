// Gradients of compiled windows, rows on 16 bytes: a tile of rows, 16 bytes wide, in each thread's registers.
#pragma once
#include <ridge/pool/gradient_rows.hpp>
#include <ridge/pool/gradient_windows.cuh>

namespace ridge::pool_detail {

// dx[n, c, i, j] = sum of what the windows that hold it give of dy     dy, y: [n, c, oh, ow], any strides
//                                                                      dx, x: [n, c, h, w], rows contiguous
// A thread has Config::rows x V inputs. It reads the rows of x from the first that a window of the tile reaches, and a
// few elements on either side, which other threads bring into the L1 cache.
// Preconditions: gridDim.x * threads covers items < 2^31; sides as StridedAxis wants them; refuse_rows() is empty.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    pool_gradient_rows(GradientTensors<T> t, TileGradientShape p) {
  constexpr int V = tile::vector_elements<T>, R = Policy::config.rows;
  using Rows = TileAxis<Policy::config.size, Policy::config.stride, Policy::config.pad, R>;
  using Cols = TileAxis<Policy::config.size, Policy::config.stride, Policy::config.pad, V>;
  constexpr int above = -Rows::begin, before = -Cols::begin, width = Cols::end - Cols::begin;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned across = item;
  unsigned down = p.across.divide(across);
  unsigned channel = p.down.divide(down);
  const unsigned image = p.channels.divide(channel);
  const int first_row = static_cast<int>(down) * R, first_col = static_cast<int>(across) * V;
  const GradientStrides& s = p.strides;

  // ---- x of the tile, and what its windows reach above and beside it
  float x[above + R][width];
  bool row_inside[above + R], col_inside[width];
  if constexpr (!F::counts) {
    t.x += image * s.x[0] + channel * s.x[1] + first_col;
#pragma unroll
    for (int c = 0; c < width; ++c)
      col_inside[c] = static_cast<unsigned>(first_col - before + c) < static_cast<unsigned>(p.cols.inputs);
#pragma unroll
    for (int r = 0; r < above + R; ++r) {
      const int row = first_row - above + r;
      row_inside[r] = static_cast<unsigned>(row) < static_cast<unsigned>(p.rows.inputs);
      const T* from = t.x + row * s.x[2];
      const tile::Packed own = row_inside[r] ? tile::load_packed(from) : tile::Packed{};
      tile::for_elements<T>(own, [&](float element, int v) { x[r][before + v] = element; });
#pragma unroll
      for (int c = 0; c < width; ++c)
        if (c < before || c >= before + V) x[r][c] = row_inside[r] && col_inside[c] ? float(from[c - before]) : 0.0f;
    }
  }
  const auto value = [&](int r, int c) { return x[above + r][before + c]; };
  const auto inside = [&](int r, int c) { return row_inside[above + r] && col_inside[before + c]; };

  // ---- the windows, in row order
  t.dy += image * s.dy[0] + channel * s.dy[1];
  if constexpr (!F::counts) t.y += image * s.y[0] + channel * s.y[1];
  float dx[R][V] = {};
  const int top = first_row / Rows::stride + Rows::first, left = first_col / Cols::stride + Cols::first;
#pragma unroll
  for (int i = 0; i < Rows::windows; ++i)
#pragma unroll
    for (int j = 0; j < Cols::windows; ++j) {
      const int oi = top + i, oj = left + j;
      const bool exists = static_cast<unsigned>(oi) < static_cast<unsigned>(p.rows.outputs) &&
                          static_cast<unsigned>(oj) < static_cast<unsigned>(p.cols.outputs);
      float gradient = 0, y = 0;
      if (exists) gradient = float(t.dy[oi * s.dy[2] + oj * s.dy[3]]);
      if constexpr (F::counts) {
        if (exists) gradient *= share_of(p.share, p.rows, p.cols, oi, oj);
      } else {
        if (exists) y = float(t.y[oi * s.y[2] + oj * s.y[3]]);
      }
      add_window<F, Rows, Cols>(dx, i, j, gradient, y, value, inside);
    }

  t.dx += image * s.dx[0] + channel * s.dx[1] + first_row * s.dx[2] + first_col;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    tile::Floats<T> out;
#pragma unroll
    for (int v = 0; v < V; ++v) out[v] = dx[r][v];
    if (first_row + r < p.rows.inputs) tile::store_packed(t.dx + r * s.dx[2], tile::pack_floats<T>(out));
  }
}

namespace gradient_rows {

template <class Policy, class F, class T> static Status launch(const GradientCall<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const TileGradientShape s{.rows = strided_axis<int, 2>(p),
                            .cols = strided_axis<int, 3>(p),
                            .items = static_cast<unsigned>(items_of(c, p)),
                            .inner = {},
                            .across = Divider(p.x.shape[3] / vector_elements(p.dtype)),
                            .down = Divider(ceil_div(p.x.shape[2], c.rows)),
                            .channels = Divider(p.x.shape[1]),
                            .share = share_of_all(p),
                            .strides = gradient_strides(p)};
  return simt::launch(launch_config(call), pool_gradient_rows<Policy, F, T>, call.tensors, s);
}

}  // namespace gradient_rows
}  // namespace ridge::pool_detail
