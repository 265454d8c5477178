// Several blocks per group: a kernel for the moments of every slice, and one that writes y, or dx, of a slice by the
// moments of all. Kernels by columns go through memory in turn forwards and backwards, so that the L2 cache has what
// the next one reads first.
#pragma once
#include <ridge/group_norm/split.hpp>
#include <ridge/group_norm/sums.cuh>

namespace ridge::group_norm_detail {

// Calls f(group, its statistics) for each group of a block's part, by a warp; lane 0's statistics are what counts.
// partials: [groups of all, slices]
template <int Warp, Access A, class T, class F>
__device__ __forceinline__ void merge_groups(const Part<A, T>& part, const Partial* partials, float eps, F&& f) {
  const Shape& s = part.s;
  const simt::tile<Warp> warp;
  for (int g = warp.index(); g < s.groups; g += static_cast<int>(blockDim.x) / Warp) {
    const Statistics of = merged_statistics<Warp>(partials + (part.group + g) * s.slices, s.slices, eps);
    f(g, of);
  }
}

// Calls f(items) for a thread's items of its slice: an array of U of them at a time, then of one.
template <int U, Access A, class T, class F> __device__ __forceinline__ void for_items(const Part<A, T>& part, F&& f) {
  const unsigned lanes = part.s.lanes;
  unsigned item = part.first;
  for (; item + (U - 1) * lanes < part.end; item += U * lanes) {
    unsigned items[U];
#pragma unroll
    for (int u = 0; u < U; ++u) items[u] = item + u * lanes;
    f(items);
  }
#pragma unroll 1
  for (; item < part.end; item += lanes) {
    const unsigned items[1] = {item};
    f(items);
  }
}

// partials[g][slice] = moments of a slice of group g.   x: [n, c, h, w]            partials: [groups of all, slices]
// Preconditions: gridDim.x == parts of all samples * slices; refuse_access() is empty. Shared memory: floats_of_sums().
template <class Policy, Access A, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    group_norm_moments(const T* x, Partial* partials, Shape s) {
  using P = Part<A, T>;
  constexpr int W = P::slots, N = P::V / W;  // N: elements of a slot in an item
  tile::launch_dependents();
  const P part(s, blockIdx.x);
  const T* at = x + part.origin(s.x);
  float base[W], mean[W] = {}, squares[W] = {}, count = 0;
  part.first_of_groups(x, base);
  for_items<Policy::config.loads>(part, [&]<int U>(const unsigned(&items)[U]) {
    typename P::Values in[U];
#pragma unroll
    for (int u = 0; u < U; ++u) in[u] = P::values(part.load(at, s.x, items[u]));
    const float share = 1 / (count + float(U * N));
#pragma unroll
    for (int slot = 0; slot < W; ++slot) {
      float d[U * N];
#pragma unroll
      for (int u = 0; u < U; ++u)
#pragma unroll
        for (int i = 0; i < N; ++i) d[u * N + i] = in[u][slot * N + i] - base[slot];
      tile::extend(mean[slot], squares[slot], d, count, share);
    }
    count += float(U * N);
  });

  // Chan's formula for all threads at once: the mean first, then squares of distances from it.
  float* sums = simt::dynamic_shared<float>();
  const float of_slice = part.slice_count();
  float mean_of_group[W], squares_of_group[W];
#pragma unroll
  for (int slot = 0; slot < W; ++slot) mean_of_group[slot] = count * mean[slot];
  add_groups<Warp>(part, mean_of_group, sums);
#pragma unroll
  for (int slot = 0; slot < W; ++slot) {
    mean_of_group[slot] /= of_slice;
    const float distance = mean[slot] - mean_of_group[slot];
    squares_of_group[slot] = fmaf(count * distance, distance, squares[slot]);
  }
  add_groups<Warp>(part, squares_of_group, sums);
  if (part.lane != 0) return;
  part.for_slots([&](int slot, int g, bool is_first) {
    if (is_first)
      partials[(part.group + g) * s.slices + part.slice] = {{of_slice, mean_of_group[slot], squares_of_group[slot]},
                                                            base[slot]};
  });
}

// y[n, c, h, w] = act(gamma[c] x normalised + beta[c])  x, y: [n, c, h, w]         partials: [groups of all, slices]
// y may be x. Preconditions: as above. Shared memory: a Statistics for each group of the part.
template <class Policy, Access A, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    group_norm_write(const T* x, T* y, const Partial* partials, Shape s, Parameters parameters) {
  using P = Part<A, T>;
  static_assert(sizeof(Statistics) == split::statistics_bytes);
  const P part(s, gridDim.x - 1 - blockIdx.x);
  Statistics* of_groups = simt::dynamic_shared<Statistics>();
  tile::grid_dependency_wait();
  merge_groups<Warp>(part, partials, parameters.eps, [&](int g, const Statistics& of) {
    if (simt::tile<Warp>::rank() == 0) of_groups[g] = of;
  });
  __syncthreads();
  Statistics of[P::slots];
  part.for_slots([&](int slot, int g, bool) { of[slot] = of_groups[g]; });
  const Output<A, T> output(part, parameters, of);
  const T* from = x + part.origin(s.x);
  T* to = y + part.origin(s.y);
  for_items<Policy::config.loads>(part, [&]<int U>(const unsigned(&items)[U]) {
    typename P::Item in[U];
#pragma unroll
    for (int u = 0; u < U; ++u) in[u] = part.load(from, s.x, items[u]);
#pragma unroll
    for (int u = 0; u < U; ++u) part.template store<true>(to, s.y, items[u], output(items[u], P::values(in[u])));
  });
}

// ---- gradients

// sums[row][0][c] = sum of dz n over a slice's pixels, [1][c] = that of dz; row: sample * slices + slice.
//                                                       x, dy: [n, c, h, w]        partials: [groups of all, slices]
// Preconditions: as above, and channels are contiguous. Shared memory: a Statistics for each group of the part, then
// floats_of_sums() of V slots: [V][columns][lanes + 1].
template <class Policy, Access A, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, split::gradient_blocks_per_sm)
    group_norm_columns(const T* x, const T* dy, const Partial* partials, float* sums, std::int64_t channels, Shape s,
                       Parameters parameters) {
  using P = Part<A, T>;
  static_assert(P::by_columns);
  constexpr int V = P::V;
  tile::launch_dependents();
  const P part(s, gridDim.x - 1 - blockIdx.x);
  Statistics* of_groups = simt::dynamic_shared<Statistics>();
  float* values = reinterpret_cast<float*>(of_groups + s.groups);
  tile::grid_dependency_wait();
  merge_groups<Warp>(part, partials, parameters.eps, [&](int g, const Statistics& of) {
    if (simt::tile<Warp>::rank() == 0) of_groups[g] = of;
  });
  __syncthreads();
  Statistics of[P::slots];
  part.for_slots([&](int slot, int g, bool) { of[slot] = of_groups[g]; });
  const Affine<A, T> affine(part, parameters);
  const T *from_x = x + part.origin(s.x), *from_dy = dy + part.origin(s.dy);
  float sum_n[V] = {}, sum[V] = {};
  for_items<split::gradient_loads>(part, [&]<int U>(const unsigned(&items)[U]) {
    typename P::Item of_x[U], of_dy[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      of_x[u] = part.load(from_x, s.x, items[u]);
      of_dy[u] = part.load(from_dy, s.dy, items[u]);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {
      typename P::Values n = P::values(of_x[u]), dz = P::values(of_dy[u]);
      affine(items[u], [&](const float(&gamma)[V], const float(&beta)[V]) {
        normalise_and_unwind(of, gamma, beta, parameters.activation, n.v, dz.v);
      });
#pragma unroll
      for (int v = 0; v < V; ++v) {
        sum_n[v] = fmaf(dz[v], n[v], sum_n[v]);
        sum[v] += dz[v];
      }
    }
  });

  // A channel's lanes are added by `width` threads.
  const simt::tile<Warp> warp;
  const int lanes = static_cast<int>(s.lanes), pitch = lanes + 1, width = min(lanes, Warp);
  const int channels_of_part = s.columns * V, at_once = static_cast<int>(blockDim.x) / width;
  const int mine = static_cast<int>(threadIdx.x) / width, rank = static_cast<int>(threadIdx.x) % width;
  float* row = sums + (part.sample * s.slices + part.slice) * 2 * channels + part.channel0;
  const auto add_up = [&](const float(&value)[V], float* to) {
    if (part.has_items())
#pragma unroll
      for (int v = 0; v < V; ++v) values[(v * s.columns + part.column) * pitch + part.lane] = value[v];
    __syncthreads();
    for (int first = 0; first < channels_of_part; first += at_once) {
      const int channel = first + mine;
      float total = 0;
      if (channel < channels_of_part)
        for (int lane = rank; lane < lanes; lane += width)
          total += values[(channel % V * s.columns + channel / V) * pitch + lane];
      for (int distance = width / 2; distance > 0; distance /= 2) total += warp.shfl_xor(total, distance);
      if (rank == 0 && channel < channels_of_part) to[channel] = total;
    }
    __syncthreads();
  };
  add_up(sum_n, row);
  add_up(sum, row + channels);
}

// dx.                                                   x, dy, dx: [n, c, h, w]    partials: [groups of all, slices]
// sums: [rows_of_sample * n, 2, c], of dz n and dz. Preconditions: as above, for any access. Shared memory: a
// GroupGradient for each group of the part.
template <class Policy, Access A, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, split::gradient_blocks_per_sm)
    group_norm_gradient(const T* x, const T* dy, T* dx, const Partial* partials, const float* sums, int rows_of_sample,
                        std::int64_t channels, Shape s, Parameters parameters) {
  using P = Part<A, T>;
  static_assert(sizeof(GroupGradient) == split::gradient_bytes);
  tile::launch_dependents();
  const P part(s, blockIdx.x);
  GroupGradient* of_groups = simt::dynamic_shared<GroupGradient>();
  tile::grid_dependency_wait();
  merge_groups<Warp>(part, partials, parameters.eps, [&](int g, const Statistics& of) {
    const simt::tile<Warp> warp;
    const std::int64_t first = part.channel0 + std::int64_t{g} * s.of_group;
    GradientSums total{0, 0};
    for (int c = warp.rank(); c < s.of_group; c += Warp) {
      const float* row = sums + part.sample * rows_of_sample * 2 * channels + first + c;
      float gn = 0, g_sum = 0;
      for (int r = 0; r < rows_of_sample; ++r, row += 2 * channels) {
        gn += row[0];
        g_sum += row[channels];
      }
      const float gamma = parameters.gamma(first + c, 1);
      total = total + GradientSums{g_sum * gamma, gn * gamma};
    }
    total = warp.reduce(total, [](const GradientSums& a, const GradientSums& b) { return a + b; });
    if (warp.rank() == 0) of_groups[g] = {of, total.g / s.count, total.gn / s.count};
  });
  __syncthreads();
  GroupGradient gradient[P::slots];
  part.for_slots([&](int slot, int g, bool) { gradient[slot] = of_groups[g]; });
  const Affine<A, T> affine(part, parameters);
  const T *from_x = x + part.origin(s.x), *from_dy = dy + part.origin(s.dy);
  T* to = dx + part.origin(s.y);
  for_items<split::gradient_loads>(part, [&]<int U>(const unsigned(&items)[U]) {
    typename P::Item of_x[U], of_dy[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      of_x[u] = part.load(from_x, s.x, items[u]);
      of_dy[u] = part.load(from_dy, s.dy, items[u]);
    }
#pragma unroll
    for (int u = 0; u < U; ++u)
      part.template store<true>(
          to, s.y, items[u],
          gradient_of_item<A, T>(affine, parameters, gradient, items[u], P::values(of_x[u]), P::values(of_dy[u])));
  });
}

namespace split {

template <class Policy, Access A, class T, int Warp>
static Status launch_gradient(const Call<T>& call, const Division& d, const Shape& s) {
  const GroupNormPlan& plan = call.plan;
  const GroupNormProblem& p = plan.problem;
  const SumsPlan sums = sums_of(Policy::config, p, plan.device, d);
  const Partial* partials = call.partials();
  if constexpr (Part<A, T>::by_columns) {
    const simt::Config at = call.config(d.blocks(), d.threads, smem_of_sums(d, p.dtype), Warp);
    RIDGE_TRY(tile::launch_dependent(plan.device.cc, at, group_norm_columns<Policy, A, T, Warp>, call.x, call.dy,
                                     partials, call.sums(sums), channels(p), s, call.parameters));
  } else {
    RIDGE_TRY((launch_planes<A == Access::span, Warp>(call, sums, d.slices)));
  }
  const simt::Config at = call.config(d.blocks(), d.threads, smem_of_gradient(d), Warp);
  RIDGE_TRY(tile::launch_dependent(plan.device.cc, at, group_norm_gradient<Policy, A, T, Warp>, call.x, call.dy, call.y,
                                   partials, static_cast<const float*>(call.sums(sums)), static_cast<int>(sums.pieces),
                                   channels(p), s, call.parameters));
  return wants_sums(p) ? launch_finish<Warp>(call, sums) : Status{};
}

template <class Policy, Access A, class T, int Warp> static Status launch_of(const Call<T>& call) {
  const GroupNormPlan& plan = call.plan;
  const Division d = division_of(Policy::config, plan.problem, plan.device);
  const Shape s = shape_of(Policy::config, plan.problem, d);
  const simt::Config at = call.config(d.blocks(), d.threads, smem_of_moments(Policy::config, d), Warp);
  RIDGE_TRY(simt::launch(at, group_norm_moments<Policy, A, T, Warp>, call.x, call.partials(), s));
  if (plan.problem.backward) return launch_gradient<Policy, A, T, Warp>(call, d, s);
  const simt::Config then = call.config(d.blocks(), d.threads, smem_of_write(d), Warp);
  return tile::launch_dependent(plan.device.cc, then, group_norm_write<Policy, A, T, Warp>, call.x, call.y,
                                static_cast<const Partial*>(call.partials()), s, call.parameters);
}

template <class Policy, class T, int Warp> static Status launch(const Call<T>& call) {
  constexpr Access access = Policy::config.access;
  if constexpr (access == Access::pixels)
    if (channels_of_group(call.plan.problem) % vector_elements(call.plan.problem.dtype) != 0)
      return launch_of<Policy, Access::mixed, T, Warp>(call);
  return launch_of<Policy, access, T, Warp>(call);
}

}  // namespace split
}  // namespace ridge::group_norm_detail
