// Gradients of compiled windows, channels innermost: a tile of inputs, 16 bytes of channels each, in each thread's
// registers.
#pragma once
#include <ridge/pool/gradient_tiles.hpp>
#include <ridge/pool/gradient_windows.cuh>

namespace ridge::pool_detail {

// dx[n, i, j, c] = sum of what the windows that hold it give of dy     dy, y: [n, oh, ow, c]  dx, x: [n, h, w, c]
// A thread has Config::rows x columns inputs of V channels, and loads what their windows reach before any use.
// Preconditions: gridDim.x * threads covers items < 2^31; sides as StridedAxis wants them; refuse_channels() is empty.
// Threads are ordered along channels, then along rows.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    pool_gradient_tiles(GradientTensors<T> t, TileGradientShape p) {
  constexpr int V = tile::vector_elements<T>, R = Policy::config.rows, C = Policy::config.columns;
  using Rows = TileAxis<Policy::config.size, Policy::config.stride, Policy::config.pad, R>;
  using Cols = TileAxis<Policy::config.size, Policy::config.stride, Policy::config.pad, C>;
  constexpr int above = -Rows::begin, before = -Cols::begin, width = Cols::end - Cols::begin;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned across = p.inner.divide(vector);
  unsigned down = p.across.divide(across);
  const unsigned image = p.down.divide(down);
  const int first_row = static_cast<int>(down) * R, first_col = static_cast<int>(across) * C;
  const std::int64_t channel = std::int64_t{vector} * V;
  const GradientStrides& s = p.strides;

  // ---- load: x of the tile and of what its windows reach, then dy and y of the windows
  tile::Packed x[above + R][width], dy[Rows::windows][Cols::windows], y[Rows::windows][Cols::windows];
  const auto row_inside = [&](int r) {
    return static_cast<unsigned>(first_row + r) < static_cast<unsigned>(p.rows.inputs);
  };
  const auto inside = [&](int r, int c) {
    return row_inside(r) && static_cast<unsigned>(first_col + c) < static_cast<unsigned>(p.cols.inputs);
  };
  if constexpr (!F::counts) {
    t.x += image * s.x[0] + channel;
#pragma unroll
    for (int r = -above; r < R; ++r)
#pragma unroll
      for (int c = -before; c < width - before; ++c)
        x[above + r][before + c] = inside(r, c)
                                       ? tile::load_packed(t.x + (first_row + r) * s.x[2] + (first_col + c) * s.x[3])
                                       : tile::Packed{};
  }
  const int top = first_row / Rows::stride + Rows::first, left = first_col / Cols::stride + Cols::first;
  float share[Rows::windows][Cols::windows];
#pragma unroll
  for (int i = 0; i < Rows::windows; ++i)
#pragma unroll
    for (int j = 0; j < Cols::windows; ++j) {
      const int oi = top + i, oj = left + j;
      const bool exists = static_cast<unsigned>(oi) < static_cast<unsigned>(p.rows.outputs) &&
                          static_cast<unsigned>(oj) < static_cast<unsigned>(p.cols.outputs);
      const T* from = t.dy + image * s.dy[0] + channel + oi * s.dy[2] + oj * s.dy[3];
      dy[i][j] = exists ? tile::load_packed(from) : tile::Packed{};
      if constexpr (F::counts) {
        share[i][j] = exists ? share_of(p.share, p.rows, p.cols, oi, oj) : 0.0f;
      } else {
        const T* value = t.y + image * s.y[0] + channel + oi * s.y[2] + oj * s.y[3];
        y[i][j] = exists ? tile::load_packed(value) : tile::Packed{};
      }
    }

  // ---- compute: channel by channel, each with its windows in row order
  tile::Floats<T> out[R][C];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    float dx[R][C] = {};
    const auto value = [&](int r, int c) { return tile::unpack_floats<T>(x[above + r][before + c])[v]; };
#pragma unroll
    for (int i = 0; i < Rows::windows; ++i)
#pragma unroll
      for (int j = 0; j < Cols::windows; ++j) {
        float gradient = tile::unpack_floats<T>(dy[i][j])[v], greatest = 0;
        if constexpr (F::counts) gradient *= share[i][j];
        else greatest = tile::unpack_floats<T>(y[i][j])[v];
        add_window<F, Rows, Cols>(dx, i, j, gradient, greatest, value, inside);
      }
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < C; ++c) out[r][c][v] = dx[r][c];
  }
  t.dx += image * s.dx[0] + channel;
#pragma unroll
  for (int r = 0; r < R; ++r)
#pragma unroll
    for (int c = 0; c < C; ++c)
      if (inside(r, c))
        tile::store_packed(t.dx + (first_row + r) * s.dx[2] + (first_col + c) * s.dx[3],
                           tile::pack_floats<T>(out[r][c]));
}

namespace gradient_tiles {

template <class Policy, class F, class T> static Status launch(const GradientCall<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const TileGradientShape s{.rows = strided_axis<int, 2>(p),
                            .cols = strided_axis<int, 3>(p),
                            .items = static_cast<unsigned>(items_of(c, p)),
                            .inner = Divider(p.x.shape[1] / vector_elements(p.dtype)),
                            .across = Divider(ceil_div(p.x.shape[3], c.columns)),
                            .down = Divider(ceil_div(p.x.shape[2], c.rows)),
                            .channels = {},
                            .share = share_of_all(p),
                            .strides = gradient_strides(p)};
  return simt::launch(launch_config(call), pool_gradient_tiles<Policy, F, T>, call.tensors, s);
}

}  // namespace gradient_tiles
}  // namespace ridge::pool_detail
