// Channels innermost, twice the size: 16 bytes of channels of four pixels of y per thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/tile/packed.cuh>
#include <ridge/upsample/channels_x2.hpp>
#include <ridge/upsample/functions.cuh>
#include <ridge/upsample/launch.cuh>

namespace ridge::upsample_detail {

struct FoursShape {
  int h, w;
  unsigned items;
  Divider vectors, across, down;  // by vectors of channels, by fours along columns and along rows
  std::int64_t x[3], y[3];        // strides of n, h, w
};

// y[n, i, j, c] = a pixel of x, or the mean of four    x: [n, h, w, c]  y: [n, 2 h, 2 w, c], channels contiguous
// Thread (i, j) computes, copying, rows 2 i, 2 i + 1 and columns 2 j, 2 j + 1 of y from pixel i, j of x; in means, rows
// 2 i - 1, 2 i and columns 2 j - 1, 2 j from pixels i - 1, i and j - 1, j, those of them that exist.
// Preconditions: gridDim.x * threads covers items < 2^31; c < 2^30; all steps are whole vectors of 16 bytes. Threads
// are ordered along channels, then along columns.
template <class Policy, class M, class T>
__global__ void __launch_bounds__(Policy::config.threads) upsample_channels_x2(const T* x, T* y, FoursShape p) {
  constexpr int V = tile::vector_elements<T>;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned across = p.vectors.divide(vector);
  unsigned down = p.across.divide(across);
  const unsigned image = p.down.divide(down);
  const int i = static_cast<int>(down), j = static_cast<int>(across);
  x += image * p.x[0] + vector * V;
  y += image * p.y[0] + vector * V;

  if constexpr (!M::blends) {
    const tile::Packed pixel = tile::load_packed(x + i * p.x[1] + j * p.x[2]);
    T* out = y + 2 * i * p.y[1] + 2 * j * p.y[2];
    tile::store_packed(out, pixel);
    tile::store_packed(out + p.y[2], pixel);
    tile::store_packed(out + p.y[1], pixel);
    tile::store_packed(out + p.y[1] + p.y[2], pixel);
  } else {
    const std::int64_t rows[2] = {max(i - 1, 0) * p.x[1], min(i, p.h - 1) * p.x[1]};
    const std::int64_t columns[2] = {max(j - 1, 0) * p.x[2], min(j, p.w - 1) * p.x[2]};
    tile::Packed pixels[2][2];
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) pixels[r][c] = tile::load_packed(x + rows[r] + columns[c]);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const float weight_right = c == 0 ? 0.25f : 0.75f;  // of columns 2 j - 1 and 2 j
      const int column = 2 * j - 1 + c;
      tile::Floats<T> means[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const tile::Floats<T> left = tile::unpack_floats<T>(pixels[r][0]), right = tile::unpack_floats<T>(pixels[r][1]);
#pragma unroll
        for (int v = 0; v < V; ++v) means[r][v] = blend(left[v], right[v], weight_right);
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float weight_below = r == 0 ? 0.25f : 0.75f;  // of rows 2 i - 1 and 2 i
        const int row = 2 * i - 1 + r;
        tile::Floats<T> out;
#pragma unroll
        for (int v = 0; v < V; ++v) out[v] = blend(means[0][v], means[1][v], weight_below);
        if (row >= 0 && row < 2 * p.h && column >= 0 && column < 2 * p.w)
          tile::store_packed(y + row * p.y[1] + column * p.y[2], tile::pack_floats<T>(out));
      }
    }
  }
}

namespace channels_x2 {

template <class Policy, class M, class T> static Status launch(const Call<T>& call) {
  const UpsampleProblem& p = call.plan.problem;
  const Layout &x = p.x, &y = p.y;
  const FoursShape s{.h = whole(x.shape[2]),
                     .w = whole(x.shape[3]),
                     .items = static_cast<unsigned>(items_of(p)),
                     .vectors = Divider(ceil_div(x.shape[1], vector_of(p))),
                     .across = Divider(fours_of(p, 3)),
                     .down = Divider(fours_of(p, 2)),
                     .x = {x.stride[0], x.stride[2], x.stride[3]},
                     .y = {y.stride[0], y.stride[2], y.stride[3]}};
  return simt::launch(launch_config(call), upsample_channels_x2<Policy, M, T>, call.in, call.out, s);
}

}  // namespace channels_x2
}  // namespace ridge::upsample_detail
