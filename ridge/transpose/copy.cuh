// No axis moves.
#pragma once
#include <ridge/transpose/copy.hpp>
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/pieces.cuh>

namespace ridge::transpose_detail {

// n units, contiguous on both sides.                                                          x, y: [n]
// Preconditions: x and y start on 16 bytes; gridDim.x * threads covers the chunks.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) permute_copy(const T* x, T* y, std::int64_t n) {
  constexpr int V = per_chunk(sizeof(T));
  const std::int64_t first = (std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x) * V;
  if (first + V <= n) {
    store_packed(y + first, tile::load_packed(x + first));
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i) y[i] = x[i];
  }
}

namespace copy {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  return simt::launch(launch_config(call), permute_copy<Policy, T>, call.x, call.y, call.form.count());
}

}  // namespace copy
}  // namespace ridge::transpose_detail
