// A gradient, channels innermost: 16 bytes of channels of one pixel of dx per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/gradient_channels.hpp>
#include <ridge/upsample/launch.cuh>

namespace ridge::upsample_detail {

struct GradientChannelsShape {
  Narrow rows, columns;
  unsigned items;
  Divider vectors, across, down;  // by vectors of channels, by columns, by rows of dx
  std::int64_t dy[3], dx[3];      // strides of n, h, w
};

// dx[n, a, b, c] = the sum of its readers in dy, weighted    dy: [n, oh, ow, c]  dx: [n, h, w, c], channels contiguous
// Preconditions: gridDim.x * threads covers items < 2^31; is_narrow() along both axes; c < 2^30; all steps are whole
// vectors of 16 bytes. Threads are ordered along channels, then along columns.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    upsample_gradient_channels(const T* dy, T* dx, GradientChannelsShape p) {
  constexpr int V = tile::vector_elements<T>;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned across = p.vectors.divide(vector);
  unsigned down = p.across.divide(across);
  const unsigned image = p.down.divide(down);
  const int a = static_cast<int>(down), b = static_cast<int>(across);
  dy += image * p.dy[0] + vector * V;
  dx += image * p.dx[0] + a * p.dx[1] + b * p.dx[2] + vector * V;

  const Range<int> rows = M::readers(p.rows, a), columns = M::readers(p.columns, b);
  tile::Floats<T> sum{};
  for (int i = rows.first; i < rows.last; ++i) {
    tile::Floats<T> of_row{};
#pragma unroll 4
    for (int j = columns.first; j < columns.last; ++j) {
      const float weight = M::weight(p.columns, b, j);
      tile::for_elements<T>(tile::load_packed(dy + i * p.dy[1] + j * p.dy[2]),
                            [&](float e, int v) { of_row[v] = fmaf(weight, e, of_row[v]); });
    }
    const float weight = M::weight(p.rows, a, i);
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] = fmaf(weight, of_row[v], sum[v]);
  }
  tile::store_packed(dx, tile::pack_floats<T>(sum));
}

namespace gradient_channels {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  const UpsampleProblem& p = call.plan.problem;
  const Layout &dx = p.x, &dy = p.y;
  const GradientChannelsShape s{.rows = Narrow(rows_axis(p)),
                                .columns = Narrow(columns_axis(p)),
                                .items = static_cast<unsigned>(items_of(p)),
                                .vectors = Divider(ceil_div(dx.shape[1], vector_of(p))),
                                .across = Divider(dx.shape[3]),
                                .down = Divider(dx.shape[2]),
                                .dy = {dy.stride[0], dy.stride[2], dy.stride[3]},
                                .dx = {dx.stride[0], dx.stride[2], dx.stride[3]}};
  return simt::launch(launch_config(call), upsample_gradient_channels<Policy, M, T>, call.in, call.out, s);
}

}  // namespace gradient_channels
}  // namespace ridge::upsample_detail
