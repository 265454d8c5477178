// Contiguous samples, counted in shared memory by atomic additions.
#pragma once
#include <ridge/histogram/bins.cuh>
#include <ridge/histogram/counters.cuh>

namespace ridge::histogram_detail {

// Whether all bytes of these words are equal.
template <int N> __device__ __forceinline__ bool all_bytes_equal(const simt::vec<unsigned, N>& words) {
  unsigned differ = words[0] ^ __byte_perm(words[0], 0, 0x0321);  // each byte against its neighbour
  RIDGE_UNROLL
  for (int i = 1; i < N; ++i) differ |= words[0] ^ words[i];
  return differ == 0;
}

// Counts the samples of one access.
template <class Policy, class T, int V>
__device__ __forceinline__ void count(const simt::vec<T, V>& samples, const SharedTable<Policy>& table,
                                      const Keys<T>& keys, const Counts& counts) {
  int key[V];
  keys.find(samples, key);
  if constexpr (Policy::config.runs && V > 1) {
    bool same = true;
    if constexpr (sizeof(T) == 1) {
      simt::vec<unsigned, V / 4> words;
      memcpy(&words, &samples, sizeof words);
      same = all_bytes_equal(words);
    } else {
      RIDGE_UNROLL
      for (int v = 1; v < V; ++v) same = same && key[v] == key[0];
    }
    if (same) return table.add(key[0], V, keys, counts);
  }
  table.add_each(key, keys, counts);
}

// counts[bin(x[i])] += 1                            x: [n] contiguous  counts: [bins]
//
// x + head is aligned to an access. A grid-stride loop: thread t of block b reads access b * threads + t first, so even
// a short x is distributed evenly.
// Preconditions: counts are cleared if there is more than one block; a block counts at most max_block_samples; dynamic
// shared memory has smem_bytes.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.resident)
    histogram_shared(const T* x, std::int64_t n, int head, Keys<T> keys, Counts counts) {
  constexpr Config c = Policy::config;
  constexpr int V = access_elements(c, sizeof(T)), U = vectors(c, sizeof(T));
  constexpr bool prefetch = prefetches(c, sizeof(T));
  // Packed: iterations between two barriers, in which a block adds less than 2^15; 2 V are the remainder.
  constexpr int sync_interval = ((1 << 15) - 1 - 2 * V) / (c.threads * U * V);
  static_assert(c.counter_bits == 32 || sync_interval > 0, "a counter could overflow between barriers");
  int iteration = 0;
  const SharedTable<Policy> table(simt::dynamic_shared<unsigned>(), keys.rows());
  table.clear();
  if (gridDim.x == 1) counts.clear_all(keys.bins.count);
  __syncthreads();

  const T* body = x + head;  // body: [accesses][V]
  const std::int64_t accesses = (n - head) / V, step = std::int64_t{gridDim.x} * c.threads;
  if (blockIdx.x == 0) {  // the remainder: samples before the first whole access and after the last
    const std::int64_t i = threadIdx.x + (static_cast<int>(threadIdx.x) < head ? 0 : accesses * V);
    if (i < n) table.add(find_key(keys, x[i]), 1, keys, counts);
  }
  simt::vec<T, V> samples[U] = {};
  const auto is_whole = [&](std::int64_t first) { return first + (U - 1) * step + c.threads <= accesses; };
  const auto load = [&](std::int64_t first) {  // U independent accesses
    RIDGE_UNROLL
    for (int u = 0; u < U; ++u) samples[u] = simt::load_streaming<V>(body + (first + threadIdx.x + u * step) * V);
  };
  std::int64_t first = std::int64_t{blockIdx.x} * c.threads;
  if (prefetch && is_whole(first)) load(first);
  for (; first < accesses; first += U * step) {
    if (is_whole(first)) {
      if (!prefetch) load(first);
      simt::vec<T, V> now[U];
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u) now[u] = samples[u];
      if (prefetch && is_whole(first + U * step)) load(first + U * step);
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u) count<Policy>(now[u], table, keys, counts);  // compute
    } else {                                                                   // the last accesses, one at a time
#pragma unroll 1
      for (std::int64_t i = first + threadIdx.x; i < accesses; i += step)
        count<Policy>(simt::load<V>(body + i * V), table, keys, counts);
    }
    if constexpr (c.counter_bits == 16)
      if (++iteration % sync_interval == 0) __syncthreads();  // flushes are complete: all counters are below 2^15
  }
  __syncthreads();
  table.finish(keys, counts);  // finish
}

}  // namespace ridge::histogram_detail
