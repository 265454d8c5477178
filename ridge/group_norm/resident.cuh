// A block per group, or per some groups, which reads them once and keeps them on chip.
#pragma once
#include <ridge/group_norm/launch.cuh>
#include <ridge/group_norm/resident.hpp>
#include <ridge/tile/opaque.cuh>

namespace ridge::group_norm_detail {

// y[n, c, h, w] = act(gamma[c] x normalised + beta[c])  x, y: [n, c, h, w]. y may be x.
// The mean is that of distances from the group's first value, then the variance that of distances from the mean.
// Preconditions: gridDim.x == parts of all samples; refuse_access() is empty; a thread has at most in_registers +
// s.in_shared items. Shared memory: vectors [s.in_shared][threads], where each thread has a column of its own; then, by
// columns, floats_of_sums().
template <class Policy, Access A, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    group_norm_resident(const T* x, T* y, Shape s, Parameters parameters) {
  using P = Part<A, T>;
  constexpr int V = P::V, W = P::slots, R = Policy::config.in_registers, U = Policy::config.loads;
  const P part(s, blockIdx.x);
  const int stride = static_cast<int>(blockDim.x) * V;
  T* kept = simt::dynamic_shared<T>() + static_cast<int>(threadIdx.x) * V;
  float* sums = reinterpret_cast<float*>(simt::dynamic_shared<T>() + s.in_shared * stride);
  const T* from = x + part.origin(s.x);
  const auto item = [&](int k) { return part.first + static_cast<unsigned>(k) * s.lanes; };
  const auto load = [&](int k) { return item(k) < s.items ? part.load(from, s.x, item(k)) : tile::Packed{}; };

  tile::Packed in[R];
  float base[W], sum[W] = {};
#pragma unroll
  for (int k = 0; k < R; ++k) in[k] = load(k);
  part.first_of_groups(x, base);
  const auto add_distances = [&](const tile::Packed& vector) {
    const typename P::Values values = P::values(vector);
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v % W] += values[v] - base[v % W];
  };
#pragma unroll
  for (int k = 0; k < R; ++k)
    if (item(k) < s.items) add_distances(in[k]);
#pragma unroll 1
  for (int k = R; item(k) < s.items; k += U) {
    tile::Packed more[U];
#pragma unroll
    for (int u = 0; u < U; ++u) more[u] = load(k + u);
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (item(k + u) >= s.items) break;
      add_distances(more[u]);
      tile::store_packed_shared(kept + (k - R + u) * stride, more[u]);
    }
  }
  // Calls f(item, vector) for what the thread keeps. Between two calls the compiler may not keep vectors as floats, in
  // registers that it does not have.
  const auto each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < R; ++k) {
      tile::make_opaque(in[k]);
      if (item(k) < s.items) f(item(k), in[k]);
    }
#pragma unroll 4
    for (int k = R; item(k) < s.items; ++k) f(item(k), tile::load_packed(kept + (k - R) * stride));
  };

  add_groups<Warp>(part, sum, sums);
  float center[W], squares[W] = {};
#pragma unroll
  for (int slot = 0; slot < W; ++slot) center[slot] = base[slot] + sum[slot] / s.count;
  each([&](unsigned, const tile::Packed& vector) {
    const typename P::Values values = P::values(vector);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float distance = values[v] - center[v % W];
      squares[v % W] = fmaf(distance, distance, squares[v % W]);
    }
  });
  add_groups<Warp>(part, squares, sums);
  Statistics of[W];
#pragma unroll
  for (int slot = 0; slot < W; ++slot) {
    const float mean = sum[slot] / s.count, rest = base[slot] - center[slot] + mean;  // what the center's rounding lost
    of[slot] = Statistics::of(base[slot], mean, fmaf(-rest, rest, squares[slot] / s.count), parameters.eps);
  }
  const Output<A, T> output(part, parameters, of);
  T* to = y + part.origin(s.y);
  each([&](unsigned i, const tile::Packed& vector) { part.store(to, s.y, i, output(i, P::values(vector))); });
}

namespace resident {

template <class Policy, Access A, class T, int Warp> static Status launch_of(const Call<T>& call) {
  const GroupNormPlan& plan = call.plan;
  const Division d = division_of(Policy::config, plan.problem, plan.device);
  const simt::Config at = call.config(d.blocks(), d.threads, smem_of_resident(Policy::config, d), Warp);
  return simt::launch(at, group_norm_resident<Policy, A, T, Warp>, call.x, call.y,
                      shape_of(Policy::config, plan.problem, d), call.parameters);
}

template <class Policy, class T, int Warp> static Status launch(const Call<T>& call) {
  constexpr Access access = Policy::config.access;
  if constexpr (access == Access::pixels)
    if (channels_of_group(call.plan.problem) % vector_elements(call.plan.problem.dtype) != 0)
      return launch_of<Policy, Access::mixed, T, Warp>(call);
  return launch_of<Policy, access, T, Warp>(call);
}

}  // namespace resident
}  // namespace ridge::group_norm_detail
