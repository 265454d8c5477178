// Blocks per some channels, lanes along channels first.
#pragma once
#include <ridge/batch_norm/stats.cuh>
#include <ridge/batch_norm/stats_channels.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per columns * V channels, each with every slices-th step of their positions: lanes along channels
// first, then along positions.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: gridDim.x == groups * slices < 2^31; fewer than 2^31 positions; columns is a power of two that divides
// threads; vectorized: channels_on_vectors(). Shared memory: mean [threads][V], squares [threads][V], count [threads].
// If there is one slice, the results are written directly.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_channels(const T* x, Partial* partial, Results results, StatsShape s) {
  tile::launch_dependents();
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  float* means = simt::dynamic_shared<float>();
  float *squares = means + threads * V, *counts = squares + threads * V;
  unsigned slice = blockIdx.x;
  const unsigned group = s.by_slices.divide(slice);
  const int column = static_cast<int>(threadIdx.x) & (s.columns - 1), lanes = threads / s.columns;
  const int lane = static_cast<int>(threadIdx.x) / s.columns;
  const std::int64_t channel = (std::int64_t{group} * s.columns + column) * V;
  const bool exists = channel < s.channels;  // a lane without channels still joins the barriers
  if (exists) x += channel * s.stride[1];
  const unsigned items = exists ? s.items : 0, step = lanes * loads;

  const auto load = [&](unsigned position) -> Loaded {
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(x + position * s.stride[3]);
    } else {
      const unsigned n = s.by_plane.divide(position), h = s.by_row.divide(position);
      return x[n * s.stride[0] + h * s.stride[2] + position * s.stride[3]];
    }
  };
  const auto element = [&](const Loaded& in, int v) {
    if constexpr (Policy::config.vectorized) return tile::unpack_floats<T>(in)[v];
    else return float(in);
  };
  float base[V] = {}, mean[V] = {}, square[V] = {}, count = 0;
  if (exists) {
    const Loaded first = load(0);
#pragma unroll
    for (int v = 0; v < V; ++v) base[v] = element(first, v);
  }
  const auto take = [&]<int N>(const Loaded(&in)[N]) {
    const float share = 1 / (count + float(N));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      float d[N];
#pragma unroll
      for (int k = 0; k < N; ++k) d[k] = element(in[k], v) - base[v];
      extend(mean[v], square[v], d, count, share);
    }
    count += float(N);
  };
  for (unsigned first = slice * step; first < items; first += s.slices * step) {
    const unsigned position = first + lane;
    if (first + step <= items) {
      Loaded in[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) in[k] = load(position + k * lanes);
      take(in);
    } else {
      for (unsigned at = position; at < items; at += lanes) {
        const Loaded in[1] = {load(at)};
        take(in);
      }
    }
  }

  // Combine the lanes of a column, halves first.
  const auto put = [&] {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      means[v * threads + threadIdx.x] = mean[v];
      squares[v * threads + threadIdx.x] = square[v];
    }
    counts[threadIdx.x] = count;
  };
  put();
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      const int other = static_cast<int>(threadIdx.x) + half * s.columns;
      const Weights weights(count, counts[other]);
#pragma unroll
      for (int v = 0; v < V; ++v)
        weights.combine(mean[v], square[v], means[v * threads + other], squares[v * threads + other]);
      count += counts[other];
      put();
    }
  }
  if (lane != 0 || !exists) return;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const Moments m{count, mean[v], square[v]};
    if (s.slices == 1) results.write(channel + v, m, base[v]);
    else partial[(channel + v) * s.slices + slice] = {m, base[v]};
  }
}

namespace stats::channels {

template <class Policy, class T, int Warp> static Status launch(const StatsCall<T>& call) {
  StatsShape s = shape_of(call);
  if constexpr (Policy::config.vectorized) s.stride[3] = *position_pitch(call.plan.problem.x);
  return simt::launch(launch_config(call, Warp), stats_channels<Policy, T>, call.x, call.partial, call.results, s);
}

}  // namespace stats::channels
}  // namespace ridge::batch_norm_detail
