// Runs that stay together: the innermost axis stays in its place.
#pragma once
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/pieces.cuh>
#include <ridge/transpose/runs.hpp>

namespace ridge::transpose_detail {

// Runs of cols units, contiguous on both sides, in y's order.              x, y: [outer][cols], outer axes strided
// Precondition: gridDim.x * threads * accesses covers the form's n units.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) permute_runs(const T* x, T* y, std::int64_t n, Form f) {
  constexpr int accesses = Policy::config.accesses;
  T value[accesses];
  std::int64_t to[accesses];
  const std::int64_t first = std::int64_t{blockIdx.x} * (Policy::config.threads * accesses) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < accesses; ++u) {
    const std::int64_t i = first + u * Policy::config.threads;
    if (i >= n) break;
    const std::int64_t run =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(f.cols));
    const Axes::Offsets at = f.outer(run);
    to[u] = at.y + i - run * f.cols;
    value[u] = x[at.x + i - run * f.cols];
  }
#pragma unroll
  for (int u = 0; u < accesses; ++u)
    if (first + u * Policy::config.threads < n) y[to[u]] = value[u];
}

namespace runs {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  return simt::launch(launch_config(call), permute_runs<Policy, T>, call.x, call.y, call.form.count(), call.form);
}

}  // namespace runs
}  // namespace ridge::transpose_detail
