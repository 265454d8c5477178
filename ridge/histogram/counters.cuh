// Destinations of counts: the result in global memory, and a block's privatised counters in shared memory.
#pragma once
#include <ridge/histogram/variants.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::histogram_detail {

// The result.                                       data: [bins] int64 or int32, `stride` elements apart
struct Counts {
  void* data;
  std::int64_t stride;
  bool wide;  // int64

  __device__ __forceinline__ void add(std::int64_t bin, unsigned amount) const {
    if (wide) atomicAdd(static_cast<unsigned long long*>(data) + bin * stride, static_cast<unsigned long long>(amount));
    else atomicAdd(static_cast<unsigned*>(data) + bin * stride, amount);
  }
  __device__ __forceinline__ void clear(std::int64_t bin) const {
    if (wide) static_cast<unsigned long long*>(data)[bin * stride] = 0;
    else static_cast<unsigned*>(data)[bin * stride] = 0;
  }
  // By a block that works alone, instead of a separate launch.
  __device__ __forceinline__ void clear_all(int bins) const {
    for (int bin = static_cast<int>(threadIdx.x); bin < bins; bin += static_cast<int>(blockDim.x)) clear(bin);
  }
};

// counts[bin] = 0                                   one thread per bin
__global__ void __launch_bounds__(256) histogram_clear(Counts counts, int bins) {
  const std::int64_t bin = std::int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (bin < bins) counts.clear(bin);
}

// A block's privatised counters.                    words: [rows][copies] 32 bits, or [rows / 2] pairs of 16 bits
//
// With 32 copies lane l counts in column l, and column l is bank l: a warp never has conflicts, whatever the data. With
// fewer, 32 / copies lanes share a column, and conflict where their rows are equal modulo 32 / copies.
template <class Policy> struct SharedTable {
  static constexpr Config c = Policy::config;
  static constexpr bool packed = c.counter_bits == 16;
  static_assert(!packed || c.copies == 1);
  static_assert((c.copies & (c.copies - 1)) == 0);

  unsigned *words, *column;  // column: this thread's counter of row 0
  int rows;

  __device__ __forceinline__ SharedTable(unsigned* shared, int row_count)
      : words(shared), column(shared + static_cast<int>(threadIdx.x) % c.copies), rows(row_count) {}
  __device__ __forceinline__ int word_count() const { return packed ? (rows + 1) / 2 : rows * c.copies; }

  __device__ __forceinline__ void clear() const {
    for (int i = static_cast<int>(threadIdx.x); i < word_count(); i += c.threads) words[i] = 0;
  }

  // Packed: a counter that reaches 2^15 flushes 2^15 to the result, so that it cannot overflow before the next barrier,
  // until which a block adds less than 2^15. Exactly one thread sees the counter's highest bit flip.
  template <class T>
  __device__ __forceinline__ void flush_if_full(int key, unsigned old, unsigned added, const Keys<T>& keys,
                                                const Counts& counts) const {
    const unsigned one = 1u << (key & 1) * 16;
    if (((old ^ (old + one * added)) & 0x80008000u) == 0) return;
    atomicAdd(&words[key >> 1], 0u - (one << 15));
    if (const int bin = keys.bin(key); bin >= 0) counts.add(bin, 1u << 15);
  }
  template <class T>
  __device__ __forceinline__ void add(int key, unsigned amount, const Keys<T>& keys, const Counts& counts) const {
    if constexpr (packed) {
      flush_if_full(key, atomicAdd(&words[key >> 1], amount << (key & 1) * 16), amount, keys, counts);
    } else {
      atomicAdd(&column[key * c.copies], amount);
    }
  }

  // Adds one sample to each counter. Packed: all additions first, so that none waits for another's result.
  template <int V, class T>
  __device__ __forceinline__ void add_each(const int (&key)[V], const Keys<T>& keys, const Counts& counts) const {
    if constexpr (packed) {
      unsigned old[V], full = 0;
      RIDGE_UNROLL
      for (int v = 0; v < V; ++v) old[v] = atomicAdd(&words[key[v] >> 1], 1u << (key[v] & 1) * 16);
      RIDGE_UNROLL
      for (int v = 0; v < V; ++v) full |= (old[v] + (1u << (key[v] & 1) * 16)) ^ old[v];
      if ((full & 0x80008000u) == 0) return;
      RIDGE_UNROLL
      for (int v = 0; v < V; ++v) flush_if_full(key[v], old[v], 1, keys, counts);
    } else {
      RIDGE_UNROLL
      for (int v = 0; v < V; ++v) add(key[v], 1, keys, counts);
    }
  }

  // Adds the block's counts to the result.
  template <class T> __device__ __forceinline__ void finish(const Keys<T>& keys, const Counts& counts) const {
    for (int key = static_cast<int>(threadIdx.x); key < rows; key += c.threads) {
      unsigned count = 0;
      if constexpr (packed) {
        count = words[key >> 1] >> (key & 1) * 16 & 0xffffu;
      } else {
#pragma unroll 4
        for (int i = 0; i < c.copies; ++i)  // each thread starts at another copy, or all would read one bank
          count += words[key * c.copies + (i + static_cast<int>(threadIdx.x)) % c.copies];
      }
      if (count == 0) continue;
      const int bin = keys.bin(key);
      if (bin >= 0) counts.add(bin, count);
    }
  }
};

}  // namespace ridge::histogram_detail
