// Contiguous samples, counted in shared memory by atomic additions.
#pragma once
#include <ridge/histogram/bins.cuh>
#include <ridge/histogram/counters.cuh>

namespace ridge::histogram_detail {

// Whether all bytes of these words are the same.
template <int N> __device__ __forceinline__ bool all_bytes_equal(const simt::vec<unsigned, N>& words) {
  unsigned differ = words[0] ^ __byte_perm(words[0], 0, 0x0321);  // each byte against its neighbour
  RIDGE_UNROLL
  for (int i = 1; i < N; ++i) differ |= words[0] ^ words[i];
  return differ == 0;
}

// The samples of one access.
template <class Row, class T, int V>
__device__ __forceinline__ void count(const simt::vec<T, V>& samples, const SharedTable<Row>& table,
                                      const Keys<T>& keys, const Counts& counts) {
  int key[V];
  keys.find(samples, key);
  if constexpr (Row::config.runs && V > 1) {
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
// x + head starts on an access. Thread t of block b reads access b * threads + t, and on in steps of the whole grid:
// also a short x is shared out evenly.
// Preconditions: counts are cleared where there is more than one block; a block counts at most max_block_samples;
// dynamic shared memory holds smem_bytes.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, Row::config.resident)
    histogram_shared(const T* x, std::int64_t n, int head, Keys<T> keys, Counts counts) {
  constexpr Config c = Row::config;
  constexpr int V = access_elements(c, sizeof(T)), U = vectors(c, sizeof(T));
  constexpr bool ahead = reads_ahead(c, sizeof(T));
  // Packed: turns of the loop between two barriers, in which a block adds less than 2^15; 2 V are the ragged ends.
  constexpr int turns = ((1 << 15) - 1 - 2 * V) / (c.threads * U * V);
  static_assert(c.counter_bits == 32 || turns > 0, "a counter could overflow between barriers");
  int turn = 0;
  const SharedTable<Row> table(simt::dynamic_shared<unsigned>(), keys.rows());
  table.clear();
  if (gridDim.x == 1) counts.clear_all(keys.bins.count);
  __syncthreads();

  const T* body = x + head;  // body: [accesses][V]
  const std::int64_t accesses = (n - head) / V, step = std::int64_t{gridDim.x} * c.threads;
  if (blockIdx.x == 0) {  // the ragged ends: samples before the first whole access and after the last
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
  if (ahead && is_whole(first)) load(first);
  for (; first < accesses; first += U * step) {
    if (is_whole(first)) {
      if (!ahead) load(first);
      simt::vec<T, V> now[U];
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u) now[u] = samples[u];
      if (ahead && is_whole(first + U * step)) load(first + U * step);
      RIDGE_UNROLL
      for (int u = 0; u < U; ++u) count<Row>(now[u], table, keys, counts);  // compute
    } else {                                                                // the last accesses, one at a time
#pragma unroll 1
      for (std::int64_t i = first + threadIdx.x; i < accesses; i += step)
        count<Row>(simt::load<V>(body + i * V), table, keys, counts);
    }
    if constexpr (c.counter_bits == 16)
      if (++turn % turns == 0) __syncthreads();  // counters that have reached 2^15 are below it again
  }
  __syncthreads();
  table.finish(keys, counts);  // finish
}

}  // namespace ridge::histogram_detail
