// Channels innermost: a pixel of y, and some vectors of its channels, per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/channels.hpp>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/launch.cuh>

namespace ridge::upsample_detail {

struct ChannelsShape {
  Narrow rows, columns;
  unsigned items, vectors, lanes;  // vectors of a pixel, and threads that share them
  Divider by_lanes, across, down;  // by these threads, by columns, by rows of y
  std::int64_t x[3], y[3];         // strides of n, h, w
};

// y[n, i, j, c] = a pixel of x, or the mean of four    x: [n, h, w, c]  y: [n, oh, ow, c], channels contiguous
// Preconditions: gridDim.x * threads covers items < 2^31; is_narrow() along both axes; h and w are not 0; c < 2^30; all
// steps are whole vectors of 16 bytes. Threads are ordered along channels, then along columns.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_channels(const T* x, T* y, ChannelsShape p) {
  constexpr int V = tile::vector_elements<T>;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned lane = item;
  unsigned j = p.by_lanes.divide(lane);
  unsigned i = p.across.divide(j);
  const unsigned image = p.down.divide(i);
  x += image * p.x[0];
  y += image * p.y[0] + i * p.y[1] + j * p.y[2];

  if constexpr (!M::blends) {
    const T* in = x + p.rows.source(static_cast<int>(i)) * p.x[1] + p.columns.source(static_cast<int>(j)) * p.x[2];
#pragma unroll 2
    for (unsigned v = lane; v < p.vectors; v += p.lanes) tile::store_packed(y + v * V, tile::load_packed(in + v * V));
  } else {
    const Place<int> row = p.rows.place(static_cast<int>(i)), column = p.columns.place(static_cast<int>(j));
    const T *above = x + p.rows.before(row) * p.x[1], *below = x + p.rows.behind(row) * p.x[1];  // the two rows of x
    const std::int64_t left = p.columns.before(column) * p.x[2], right = p.columns.behind(column) * p.x[2];
    const bool reads_above = (row.weight < 1), reads_below = (row.weight > 0);
    const bool reads_left = (column.weight < 1), reads_right = (column.weight > 0);
    const auto load = [&](bool reads, const T* from) {
      return tile::unpack_floats<T>(reads ? tile::load_packed(from) : tile::Packed{});
    };
#pragma unroll 2
    for (unsigned v = lane; v < p.vectors; v += p.lanes) {
      const unsigned at = v * V;
      const tile::Floats<T> a = load(reads_above && reads_left, above + left + at),
                            b = load(reads_above && reads_right, above + right + at),
                            c = load(reads_below && reads_left, below + left + at),
                            d = load(reads_below && reads_right, below + right + at);
      tile::Floats<T> out;
#pragma unroll
      for (int e = 0; e < V; ++e)
        out[e] = blend(blend(a[e], b[e], column.weight), blend(c[e], d[e], column.weight), row.weight);
      tile::store_packed(y + at, tile::pack_floats<T>(out));
    }
  }
}

namespace channels {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const UpsampleProblem& p = call.plan.problem;
  const Layout &x = p.x, &y = p.y;
  const ChannelsShape s{.rows = Narrow(rows_axis(p)),
                        .columns = Narrow(columns_axis(p)),
                        .items = static_cast<unsigned>(items_of(c, p)),
                        .vectors = static_cast<unsigned>(vectors_of(p)),
                        .lanes = static_cast<unsigned>(threads_of_pixel(c, p)),
                        .by_lanes = Divider(threads_of_pixel(c, p)),
                        .across = Divider(y.shape[3]),
                        .down = Divider(y.shape[2]),
                        .x = {x.stride[0], x.stride[2], x.stride[3]},
                        .y = {y.stride[0], y.stride[2], y.stride[3]}};
  return simt::launch(launch_config(call), upsample_channels<Policy, M, T>, call.in, call.out, s);
}

}  // namespace channels
}  // namespace ridge::upsample_detail
