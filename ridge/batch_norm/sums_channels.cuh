// A gradient's sums: blocks per some channels, lanes along channels first.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_channels.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per columns * V channels, each with every slices-th step of their positions: lanes along channels
// first, then along positions.
//                                                       x, dy, residual, dz: [n, c, h, w]
// Unless dz is dy it is computed, by residual if it is given, and stored if it is asked for.
// Preconditions: gridDim.x == groups * slices < 2^31; fewer than 2^31 positions; columns is a power of two that divides
// threads; vectorized: channels_on_vectors() for all. Shared memory: dz [V][threads], dz (x - mean) [V][threads].
template <class Policy, class T, Dz How>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_channels(SumsTensors<T> t, SumsOutputs out, SumsShape s) {
  tile::launch_dependents();
  constexpr bool activated = How != Dz::is_dy;
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  using Access = SumsAccess<Policy::config.vectorized, T>;
  using Loaded = typename Access::Loaded;
  using Values = typename Access::Values;
  constexpr int V = Access::V;
  float* of_dz = simt::dynamic_shared<float>();
  float* of_dzx = of_dz + threads * V;
  unsigned slice = blockIdx.x;
  const unsigned group = s.by_slices.divide(slice);
  const int column = static_cast<int>(threadIdx.x) & (s.columns - 1), lanes = threads / s.columns;
  const int lane = static_cast<int>(threadIdx.x) / s.columns;
  const std::int64_t channel = (std::int64_t{group} * s.columns + column) * V;
  const bool exists = channel < s.channels;  // a lane without channels still joins the barriers
  Channel channels[V] = {};
  if (exists) {
    t.advance(channel * s.x[1], channel * s.dy[1], channel * s.residual[1], channel * s.dz[1]);
    if constexpr (V == 1) {
      channels[0] = activated ? out.parameters(channel) : Channel{out.parameters.mean(channel, 0), 0, 0};
    } else if constexpr (activated) {
      out.parameters.gather(channel, s.aligned_parameters, channels);
    } else {
      float means[V];
      out.parameters.mean.gather(channel, means);
#pragma unroll
      for (int v = 0; v < V; ++v) channels[v].mean = means[v];
    }
  }
  const unsigned items = exists ? s.items : 0, step = lanes * loads;

  const auto offset = [&](const std::int64_t(&stride)[4], unsigned position) {
    if constexpr (Policy::config.vectorized) {
      return position * stride[3];
    } else {
      const unsigned n = s.by_plane.divide(position), h = s.by_row.divide(position);
      return n * stride[0] + h * stride[2] + position * stride[3];
    }
  };
  const auto load = [&](const T* from, const std::int64_t(&stride)[4], unsigned position) {
    return Access::load(from + offset(stride, position));
  };
  const auto load_residual = [&](unsigned position) -> Loaded {
    return activated && t.residual ? load(t.residual, s.residual, position) : Loaded{};
  };
  Sums sums[V] = {};
  const auto take = [&](unsigned position, const Loaded& of_x, const Loaded& of_dy, const Loaded& of_residual) {
    const Values x = Access::values(of_x);
    Values dz = Access::values(of_dy);
    if constexpr (activated) {
      to_dz<How>(s.activation, channels, x.v, Access::values(of_residual).v, dz.v);
      if (t.dz) Access::store(t.dz + offset(s.dz, position), dz);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) sums[v].take(dz[v], x[v] - channels[v].mean);
  };
  for (unsigned first = slice * step; first < items; first += s.slices * step) {
    const unsigned position = first + lane;
    if (first + step <= items) {
      Loaded of_x[loads], of_dy[loads], of_residual[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        of_x[k] = load(t.x, s.x, position + k * lanes);
        of_dy[k] = load(t.dy, s.dy, position + k * lanes);
        of_residual[k] = load_residual(position + k * lanes);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) take(position + k * lanes, of_x[k], of_dy[k], of_residual[k]);
    } else {
      for (unsigned at = position; at < items; at += lanes)
        take(at, load(t.x, s.x, at), load(t.dy, s.dy, at), load_residual(at));
    }
  }

  // Add the lanes of a column, halves first.
  const auto put = [&] {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      of_dz[v * threads + threadIdx.x] = sums[v].dz;
      of_dzx[v * threads + threadIdx.x] = sums[v].dzx;
    }
  };
  put();
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      const int other = static_cast<int>(threadIdx.x) + half * s.columns;
#pragma unroll
      for (int v = 0; v < V; ++v) sums[v] = sums[v] + Sums{of_dz[v * threads + other], of_dzx[v * threads + other]};
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
    if (p.residual) s.residual[3] = *position_pitch(p.of_residual);
    if (p.dresidual) s.dz[3] = *position_pitch(p.of_dresidual);
  }
  return launch_sums_kernel(call, Warp, s, []<Dz How>() { return sums_channels<Policy, T, How>; });
}

}  // namespace sums::channels
}  // namespace ridge::batch_norm_detail
