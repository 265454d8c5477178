// The gradient of twice the size, channels innermost: 16 bytes of channels of some pixels of a column of dx per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/gradient_channels_x2.hpp>
#include <ridge/upsample/twice.cuh>

namespace ridge::upsample_detail {

struct GradientChannelsX2Shape {
  int h, w;  // of dx
  unsigned items;
  Divider vectors, across, down;  // by vectors of channels, by columns of dx, by threads down them
  std::int64_t dy[3], dx[3];      // strides of n, h, w
};

// dx[n, a, b, c] = the sum of its readers in dy, weighted   dy: [n, 2 h, 2 w, c]  dx: [n, h, w, c], channels contiguous
// A thread computes Config::rows rows of one column of dx. Beyond the edge, the edge stands for rows and columns of dy,
// so that it has all of its weight.
// Preconditions: gridDim.x * threads covers items < 2^31; c < 2^30; all steps are whole vectors of 16 bytes. Threads
// are ordered along channels, then along columns.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    upsample_gradient_channels_x2(const T* dy, T* dx, GradientChannelsX2Shape p) {
  using Terms = TermsOfTwice<M>;
  constexpr int V = tile::vector_elements<T>, R = Policy::config.rows, in_rows = 2 * R + 2 * Terms::halo;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned across = p.vectors.divide(vector);
  unsigned down = p.across.divide(across);
  const unsigned image = p.down.divide(down);
  const int first_row = static_cast<int>(down) * R, column = static_cast<int>(across);
  dy += image * p.dy[0] + vector * V;
  dx += image * p.dx[0] + column * p.dx[2] + vector * V;

  std::int64_t columns[Terms::count];
#pragma unroll
  for (int t = 0; t < Terms::count; ++t) columns[t] = max(0, min(2 * column - Terms::halo + t, 2 * p.w - 1)) * p.dy[2];
  tile::Floats<T> sums[R] = {};
#pragma unroll
  for (int k = 0; k < in_rows; ++k) {
    const T* row = dy + max(0, min(2 * first_row - Terms::halo + k, 2 * p.h - 1)) * p.dy[1];
    tile::Packed in[Terms::count];
#pragma unroll
    for (int t = 0; t < Terms::count; ++t) in[t] = tile::load_packed(row + columns[t]);
    tile::Floats<T> along{};
#pragma unroll
    for (int t = 0; t < Terms::count; ++t)
      tile::for_elements<T>(in[t], [&](float e, int v) { along[v] = fmaf(Terms::weight(t), e, along[v]); });
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int t = k - 2 * r;
      if (t < 0 || t >= Terms::count) continue;
#pragma unroll
      for (int v = 0; v < V; ++v) sums[r][v] = fmaf(Terms::weight(t), along[v], sums[r][v]);
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r)
    if (first_row + r < p.h) tile::store_packed(dx + (first_row + r) * p.dx[1], tile::pack_floats<T>(sums[r]));
}

namespace gradient_channels_x2 {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  const Layout &dx = p.x, &dy = p.y;
  const GradientChannelsX2Shape s{.h = whole(dx.shape[2]),
                                  .w = whole(dx.shape[3]),
                                  .items = static_cast<unsigned>(items_of(c, p)),
                                  .vectors = Divider(ceil_div(dx.shape[1], vector_of(p))),
                                  .across = Divider(dx.shape[3]),
                                  .down = Divider(ceil_div(dx.shape[2], c.rows)),
                                  .dy = {dy.stride[0], dy.stride[2], dy.stride[3]},
                                  .dx = {dx.stride[0], dx.stride[2], dx.stride[3]}};
  return simt::launch(launch_config(call), upsample_gradient_channels_x2<Policy, M, T>, call.in, call.out, s);
}

}  // namespace gradient_channels_x2
}  // namespace ridge::upsample_detail
