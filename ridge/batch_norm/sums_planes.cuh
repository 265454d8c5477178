// A gradient's sums: blocks per channel, lanes along its planes.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_planes.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per channel, each with every slices-th step of loads * threads items: together they go through x and
// dy from the beginning to the end. Lanes are along planes.
//                                                       x, dy: [n, c, h, w]
// Preconditions: gridDim.x == c * slices < 2^31; a channel has fewer than 2^31 items; vectorized: planes_on_vectors()
// for both.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_planes(const T* x, const T* dy, SumsOutputs out, SumsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  constexpr unsigned step = threads * loads;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  __shared__ tile::RowScratch<Sums, threads, Warp> scratch;
  unsigned slice = blockIdx.x;
  const unsigned channel = s.by_slices.divide(slice);
  x += channel * s.x[1];
  dy += channel * s.dy[1];
  const float mean = out.mean(channel, 0);

  const auto load = [&](const T* from, const std::int64_t(&stride)[4], unsigned item) -> Loaded {
    const unsigned n = s.by_plane.divide(item);
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(from + n * stride[0] + std::int64_t{item} * V);
    } else {
      const unsigned h = s.by_row.divide(item);
      return from[n * stride[0] + h * stride[2] + item * stride[3]];
    }
  };
  Sums sums{};
  const auto take = [&](const Loaded& of_x, const Loaded& of_dy) {
    if constexpr (Policy::config.vectorized) {
      const tile::Floats<T> values = tile::unpack_floats<T>(of_x), gradients = tile::unpack_floats<T>(of_dy);
#pragma unroll
      for (int v = 0; v < V; ++v) sums.take(gradients[v], values[v] - mean);
    } else {
      sums.take(float(of_dy), float(of_x) - mean);
    }
  };
  for (unsigned first = slice * step; first < s.items; first += s.slices * step) {
    const unsigned item = first + threadIdx.x;
    if (first + step <= s.items) {
      Loaded of_x[loads], of_dy[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        of_x[k] = load(x, s.x, item + k * threads);
        of_dy[k] = load(dy, s.dy, item + k * threads);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) take(of_x[k], of_dy[k]);
    } else {
      for (unsigned at = item; at < s.items; at += threads) take(load(x, s.x, at), load(dy, s.dy, at));
    }
  }
  sums = tile::row_reduce<threads, Warp>(
      sums, [](Sums a, Sums b) { return a + b; }, scratch);
  if (threadIdx.x == 0) out.put(channel, slice, s.slices, sums);
}

namespace sums::planes {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  const SumsShape s = shape_of(call, elements_of_load(Policy::config, call.plan.problem.dtype));
  return simt::launch(launch_config(call, Warp), sums_planes<Policy, T, Warp>, call.x, call.dy, call.outputs, s);
}

}  // namespace sums::planes
}  // namespace ridge::batch_norm_detail
