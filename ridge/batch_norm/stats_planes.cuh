// Blocks per channel, lanes along its planes.
#pragma once
#include <ridge/batch_norm/stats.cuh>
#include <ridge/batch_norm/stats_planes.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per channel, each with every slices-th step of loads * threads items: together they go through x from
// its beginning to its end. Lanes are along planes.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == c * slices < 2^31; a channel has fewer than 2^31 items; vectorized: planes_on_vectors().
// If there is one slice, the results are written directly.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_planes(const T* x, Partial* partial, Results results, StatsShape s) {
  tile::launch_dependents();
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  constexpr unsigned step = threads * loads;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  __shared__ tile::RowScratch<Moments, threads, Warp> scratch;
  unsigned slice = blockIdx.x;
  const unsigned channel = s.by_slices.divide(slice);
  x += channel * s.stride[1];
  const float base = float(*x);

  const auto load = [&](unsigned item) -> Loaded {
    const unsigned n = s.by_plane.divide(item);
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(x + n * s.stride[0] + std::int64_t{item} * V);
    } else {
      const unsigned h = s.by_row.divide(item);
      return x[n * s.stride[0] + h * s.stride[2] + item * s.stride[3]];
    }
  };
  const auto spread = [&](const Loaded& loaded, float* d) {  // V differences from the base
    if constexpr (Policy::config.vectorized) {
      const tile::Floats<T> elements = tile::unpack_floats<T>(loaded);
#pragma unroll
      for (int v = 0; v < V; ++v) d[v] = elements[v] - base;
    } else {
      *d = float(loaded) - base;
    }
  };
  Moments m{};
  for (unsigned first = slice * step; first < s.items; first += s.slices * step) {
    const unsigned item = first + threadIdx.x;
    if (first + step <= s.items) {
      Loaded in[loads];
      float d[loads * V];
#pragma unroll
      for (int k = 0; k < loads; ++k) in[k] = load(item + k * threads);
#pragma unroll
      for (int k = 0; k < loads; ++k) spread(in[k], d + k * V);
      extend(m.mean, m.squares, d, m.count, 1 / (m.count + float(loads * V)));
      m.count += float(loads * V);
    } else {
      for (unsigned at = item; at < s.items; at += threads) {
        float d[V];
        spread(load(at), d);
        extend(m.mean, m.squares, d, m.count, 1 / (m.count + float(V)));
        m.count += float(V);
      }
    }
  }
  m = tile::row_reduce<threads, Warp>(
      m, [](Moments a, Moments b) { return merge(a, b); }, scratch);
  if (threadIdx.x != 0) return;
  if (s.slices == 1) results.write(channel, m, base);
  else partial[blockIdx.x] = {m, base};
}

namespace stats::planes {

template <class Policy, class T, int Warp> static Status launch(const StatsCall<T>& call) {
  const StatsShape s = shape_of(call, elements_of_load(Policy::config, call.plan.problem.dtype));
  return simt::launch(launch_config(call, Warp), stats_planes<Policy, T, Warp>, call.x, call.partial, call.results, s);
}

}  // namespace stats::planes
}  // namespace ridge::batch_norm_detail
