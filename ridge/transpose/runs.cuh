// Where the innermost axis stays in its place, or nothing is next to anything.
#pragma once
#include <ridge/transpose/pieces.cuh>

namespace ridge::transpose_detail {

// Runs of cols units, contiguous on both sides, in y's order.              x, y: [outer][cols], outer axes strided
// Precondition: gridDim.x * threads * accesses covers the form's n units.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) permute_runs(const T* x, T* y, std::int64_t n, Form f) {
  constexpr int accesses = Row::config.accesses;
  T value[accesses];
  std::int64_t to[accesses];
  const std::int64_t first = std::int64_t{blockIdx.x} * (Row::config.threads * accesses) + threadIdx.x;
#pragma unroll
  for (int u = 0; u < accesses; ++u) {
    const std::int64_t i = first + u * Row::config.threads;
    if (i >= n) break;
    const std::int64_t run =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(f.cols));
    const Axes::Offsets at = f.outer(run);
    to[u] = at.y + i - run * f.cols;
    value[u] = x[at.x + i - run * f.cols];
  }
#pragma unroll
  for (int u = 0; u < accesses; ++u)
    if (first + u * Row::config.threads < n) y[to[u]] = value[u];
}

// n units, contiguous on both sides.                                                          x, y: [n]
// Preconditions: x and y start on 16 bytes; gridDim.x * threads covers the chunks.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) permute_copy(const T* x, T* y, std::int64_t n) {
  constexpr int V = per_chunk(sizeof(T));
  const std::int64_t first = (std::int64_t{blockIdx.x} * Row::config.threads + threadIdx.x) * V;
  if (first + V <= n) {
    store_packed(y + first, tile::load_packed(x + first));
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i) y[i] = x[i];
  }
}

// A unit per thread, in y's order, by all axes.                                               x, y: [axes], strided
// Precondition: gridDim.x * threads covers the axes' n units.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) permute_strided(const T* x, T* y, std::int64_t n, Axes axes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  if (i >= n) return;
  const Axes::Offsets at = axes(i);
  y[at.y] = x[at.x];
}

}  // namespace ridge::transpose_detail
