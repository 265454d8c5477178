// The mean of each plane, channels innermost: 16 bytes of channels per lane, and several lanes for their pixels.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/access.cuh>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/global_channels.hpp>
#include <ridge/pool/launch.cuh>
#include <ridge/tile/columns.cuh>

namespace ridge::pool_detail {

struct GlobalChannelsShape {
  unsigned vectors, pixels;  // 16-byte vectors of a pixel, pixels of a plane
  tile::ColumnBlock block;
  Divider blocks;  // of an image
  std::int64_t image_x, pixel_x, image_y;
};

// y[n, c] = mean of a plane of x                        x: [n, pixels, c]  y: [n, c], channels contiguous
// A block has some vectors of channels of one image: lanes along them, levels along their pixels. A tree adds levels.
// Preconditions: gridDim.x == images * blocks < 2^31; vectors and pixels below 2^31; all steps are whole vectors of 16
// bytes. Shared memory: sums [groups, depth, lanes][V].
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    pool_global_channels(const T* x, T* y, GlobalChannelsShape p) {
  constexpr int V = tile::vector_elements<T>, loads = Policy::config.loads;
  const tile::ColumnThread at(p.block);
  unsigned block = blockIdx.x;
  const unsigned image = p.blocks.divide(block);
  const unsigned vector = (block * p.block.groups + at.group) * p.block.lanes + at.lane;
  const bool exists = vector < p.vectors;  // lanes without channels still join the barriers
  const unsigned pixels = exists ? p.pixels : 0, depth = static_cast<unsigned>(p.block.depth);
  x += image * p.image_x + std::int64_t{vector} * V;
  simt::vec<float, V> sum = {};
  for (unsigned first = static_cast<unsigned>(at.level); first < pixels; first += depth * loads) {
    tile::Packed in[loads];
#pragma unroll
    for (int k = 0; k < loads; ++k) {
      const unsigned pixel = first + k * depth;
      in[k] = pixel < pixels ? tile::load_packed(x + pixel * p.pixel_x) : tile::Packed{};
    }
#pragma unroll
    for (int k = 0; k < loads; ++k) tile::for_elements<T>(in[k], [&](float element, int v) { sum[v] += element; });
  }
  tile::merge_levels<float, V>(sum, at, p.block, [](float a, float b) { return a + b; });
  if (at.level != 0 || !exists) return;
  const float count = float(p.pixels);
#pragma unroll
  for (int v = 0; v < V; ++v) sum[v] = Mean::finish<T>(sum[v], count, 1.0f / count);
  store_floats<T, V>(y + image * p.image_y + std::int64_t{vector} * V, sum);
}

namespace global_channels {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const GlobalChannelsShape s{.vectors = static_cast<unsigned>(vectors_of(p)),
                              .pixels = static_cast<unsigned>(pixels_of(p)),
                              .block = block_of(c, p),
                              .blocks = Divider(blocks_of(c, p)),
                              .image_x = p.x.stride[0],
                              .pixel_x = p.x.shape[3] > 1 ? p.x.stride[3] : p.x.stride[2],
                              .image_y = p.y.stride[0]};
  return simt::launch(launch_config(call), pool_global_channels<Policy, T>, call.x, call.y, s);
}

}  // namespace global_channels
}  // namespace ridge::pool_detail
