// A gradient's sums: blocks per some channels, lanes along channels first.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_channels.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per columns * V channels, each with every slices-th step of their positions: lanes along channels
// first, then along positions.
//                                                       x, dy: [n, c, h, w]
// Preconditions: gridDim.x == groups * slices < 2^31; fewer than 2^31 positions; columns is a power of two that divides
// threads; vectorized: channels_on_vectors() for both. Shared memory: dy [V][threads], dy (x - mean) [V][threads].
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_channels(const T* x, const T* dy, SumsOutputs out, SumsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  constexpr int V = Policy::config.vectorized ? tile::vector_elements<T> : 1;
  using Loaded = std::conditional_t<Policy::config.vectorized, tile::Packed, T>;
  float* of_dy = simt::dynamic_shared<float>();
  float* of_dyx = of_dy + threads * V;
  unsigned slice = blockIdx.x;
  const unsigned group = s.by_slices.divide(slice);
  const int column = static_cast<int>(threadIdx.x) & (s.columns - 1), lanes = threads / s.columns;
  const int lane = static_cast<int>(threadIdx.x) / s.columns;
  const std::int64_t channel = (std::int64_t{group} * s.columns + column) * V;
  const bool exists = channel < s.channels;  // a lane without channels still joins the barriers
  float mean[V] = {};
  if (exists) {
    x += channel * s.x[1];
    dy += channel * s.dy[1];
    out.mean.gather(channel, mean);
  }
  const unsigned items = exists ? s.items : 0, step = lanes * loads;

  const auto load = [&](const T* from, const std::int64_t(&stride)[4], unsigned position) -> Loaded {
    if constexpr (Policy::config.vectorized) {
      return tile::load_packed(from + position * stride[3]);
    } else {
      const unsigned n = s.by_plane.divide(position), h = s.by_row.divide(position);
      return from[n * stride[0] + h * stride[2] + position * stride[3]];
    }
  };
  Sums sums[V] = {};
  const auto take = [&](const Loaded& value, const Loaded& gradient) {
    if constexpr (Policy::config.vectorized) {
      const tile::Floats<T> values = tile::unpack_floats<T>(value), gradients = tile::unpack_floats<T>(gradient);
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v].take(gradients[v], values[v] - mean[v]);
    } else {
      sums[0].take(float(gradient), float(value) - mean[0]);
    }
  };
  for (unsigned first = slice * step; first < items; first += s.slices * step) {
    const unsigned position = first + lane;
    if (first + step <= items) {
      Loaded values[loads], gradients[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        values[k] = load(x, s.x, position + k * lanes);
        gradients[k] = load(dy, s.dy, position + k * lanes);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) take(values[k], gradients[k]);
    } else {
      for (unsigned at = position; at < items; at += lanes) take(load(x, s.x, at), load(dy, s.dy, at));
    }
  }

  // Add the lanes of a column, halves first.
  const auto put = [&] {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      of_dy[v * threads + threadIdx.x] = sums[v].dy;
      of_dyx[v * threads + threadIdx.x] = sums[v].dyx;
    }
  };
  put();
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      const int other = static_cast<int>(threadIdx.x) + half * s.columns;
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v] = sums[v] + Sums{of_dy[v * threads + other], of_dyx[v * threads + other]};
      put();
    }
  }
  if (lane != 0 || !exists) return;
#pragma unroll
  for (int v = 0; v < V; ++v) out.put(channel + v, slice, s.slices, sums[v]);
}

namespace sums::channels {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  SumsShape s = shape_of(call);
  if constexpr (Policy::config.vectorized) {
    s.x[3] = *position_pitch(p.x);
    s.dy[3] = *position_pitch(p.dy);
  }
  return simt::launch(launch_config(call, Warp), sums_channels<Policy, T>, call.x, call.dy, call.outputs, s);
}

}  // namespace sums::channels
}  // namespace ridge::batch_norm_detail
