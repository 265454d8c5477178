// Contiguous tensors: one index for all of them.
#pragma once
#include <ridge/elementwise/functions.cuh>
#include <ridge/elementwise/variants.hpp>

namespace ridge::elementwise_detail {

// y[i] = F(a[i], b[i])                              a: [n]  b: [n]  y: [n]
// Preconditions: V > 1 needs all three to start on V elements; gridDim.x * block_elements covers n. a may be y.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    elementwise_flat(const T* a, const T* b, T* y, std::int64_t n) {
  constexpr Config c = Policy::config;
  constexpr int V = access_elements(c, sizeof(T)), U = c.vectors;
  constexpr int tile = static_cast<int>(block_elements(c, sizeof(T)));  // elements per block
  const std::int64_t first = std::int64_t{blockIdx.x} * tile + threadIdx.x * V;

  if (first - threadIdx.x * V + tile <= n) {  // a whole tile
    simt::vec<T, V> x[U], z[U];               // load: U independent accesses
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const std::int64_t at = first + u * c.threads * V;
      x[u] = simt::load<V>(a + at);
      if constexpr (is_binary<F>) z[u] = simt::load<V>(b + at);
    }
#pragma unroll
    for (int u = 0; u < U; ++u) {  // compute
#pragma unroll
      for (int v = 0; v < V; ++v) x[u][v] = evaluate<F>(x[u][v], is_binary<F> ? z[u][v] : x[u][v]);
      simt::store_global(y + first + u * c.threads * V, x[u]);  // finish
    }
  } else {  // the last, partial tile: element by element
    for (int u = 0; u < U; ++u)
      for (int v = 0; v < V; ++v) {
        const std::int64_t i = first + u * c.threads * V + v;
        if (i < n) y[i] = evaluate<F>(a[i], is_binary<F> ? b[i] : a[i]);
      }
  }
}

// y[r][c] = F(a[r][c], b[c])                        a: [rows, cols]  b: [cols]  y: [rows, cols], all contiguous
// Preconditions: cols is a multiple of V, and all three start on V elements.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    elementwise_broadcast(const T* a, const T* b, T* y, std::int64_t n, std::int64_t cols) {
  constexpr Config c = Policy::config;
  constexpr int V = access_elements(c, sizeof(T)), U = c.vectors;
  const std::int64_t first = (std::int64_t{blockIdx.x} * c.threads * U + threadIdx.x) * V;
  simt::vec<T, V> x[U], z[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t i = first + u * c.threads * V;
    if (i >= n) break;  // n is a multiple of V: an access is whole or not at all
    // The 64-bit remainder is an order of magnitude slower than the 32-bit one.
    const std::int64_t col =
        n <= 0x7fffffff ? static_cast<std::uint32_t>(i) % static_cast<std::uint32_t>(cols) : i % cols;
    x[u] = simt::load<V>(a + i);
    z[u] = simt::load<V>(b + col);
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t i = first + u * c.threads * V;
    if (i >= n) break;
#pragma unroll
    for (int v = 0; v < V; ++v) x[u][v] = evaluate<F>(x[u][v], z[u][v]);
    simt::store_global(y + i, x[u]);
  }
}

}  // namespace ridge::elementwise_detail
