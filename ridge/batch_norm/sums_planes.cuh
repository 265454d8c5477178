// A gradient's sums: blocks per channel, lanes along its planes.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_planes.hpp>

namespace ridge::batch_norm_detail {

// Several blocks per channel, each with every slices-th step of loads * threads items: together they go through x and
// dy from the beginning to the end. Lanes are along planes.
//                                                       x, dy, residual, dz: [n, c, h, w]
// Unless dz is dy it is computed, by residual if it is given, and stored if it is asked for.
// Preconditions: gridDim.x == c * slices < 2^31; a channel has fewer than 2^31 items; vectorized: planes_on_vectors()
// for all.
template <class Policy, class T, int Warp, Dz How>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_planes(SumsTensors<T> t, SumsOutputs out, SumsShape s) {
  tile::launch_dependents();
  constexpr bool activated = How != Dz::is_dy;
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads;
  using Access = SumsAccess<Policy::config.vectorized, T>;
  using Loaded = typename Access::Loaded;
  using Values = typename Access::Values;
  constexpr int V = Access::V;
  constexpr unsigned step = threads * loads;
  __shared__ tile::RowScratch<Sums, threads, Warp> scratch;
  unsigned slice = blockIdx.x;
  const unsigned channel = s.by_slices.divide(slice);
  t.advance(channel * s.x[1], channel * s.dy[1], channel * s.residual[1], channel * s.dz[1]);
  Channel of_channel[1];  // assigned: nvcc 13.0 fails where an array of classes begins with a choice
  of_channel[0] = activated ? out.parameters(channel) : Channel{out.parameters.mean(channel, 0), 0, 0};

  const auto offset = [&](const std::int64_t(&stride)[4], unsigned item) {
    const unsigned n = s.by_plane.divide(item);
    if constexpr (Policy::config.vectorized) {
      return n * stride[0] + std::int64_t{item} * V;
    } else {
      const unsigned h = s.by_row.divide(item);
      return n * stride[0] + h * stride[2] + item * stride[3];
    }
  };
  const auto load = [&](const T* from, const std::int64_t(&stride)[4], unsigned item) {
    return Access::load(from + offset(stride, item));
  };
  const auto load_residual = [&](unsigned item) -> Loaded {
    return activated && t.residual ? load(t.residual, s.residual, item) : Loaded{};
  };
  Sums sums{};
  const auto take = [&](unsigned item, const Loaded& of_x, const Loaded& of_dy, const Loaded& of_residual) {
    const Values x = Access::values(of_x);
    Values dz = Access::values(of_dy);
    if constexpr (activated) {
      to_dz<How>(s.activation, of_channel, x.v, Access::values(of_residual).v, dz.v);
      if (t.dz) Access::store(t.dz + offset(s.dz, item), dz);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) sums.take(dz[v], x[v] - of_channel[0].mean);
  };
  for (unsigned first = slice * step; first < s.items; first += s.slices * step) {
    const unsigned item = first + threadIdx.x;
    if (first + step <= s.items) {
      Loaded of_x[loads], of_dy[loads], of_residual[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        of_x[k] = load(t.x, s.x, item + k * threads);
        of_dy[k] = load(t.dy, s.dy, item + k * threads);
        of_residual[k] = load_residual(item + k * threads);
      }
#pragma unroll
      for (int k = 0; k < loads; ++k) take(item + k * threads, of_x[k], of_dy[k], of_residual[k]);
    } else {
      for (unsigned at = item; at < s.items; at += threads)
        take(at, load(t.x, s.x, at), load(t.dy, s.dy, at), load_residual(at));
    }
  }
  sums = tile::row_reduce<threads, Warp>(
      sums, [](Sums a, Sums b) { return a + b; }, scratch);
  if (threadIdx.x == 0) out.put(channel, slice, s.slices, sums);
}

namespace sums::planes {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  const SumsShape s = shape_of(call, elements_of_load(Policy::config, call.plan.problem.dtype));
  return launch_sums_kernel(call, Warp, s, []<Dz How>() { return sums_planes<Policy, T, Warp, How>; });
}

}  // namespace sums::planes
}  // namespace ridge::batch_norm_detail
