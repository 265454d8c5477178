// Copies of memory ranges that start and end anywhere, by whole aligned chunks: into shared memory, and out of it.
#pragma once
#include <ridge/transpose/pieces.cuh>

namespace ridge::transpose_detail {

// One chunk of x on its way into shared memory.
template <class T> struct Source {
  const T* chunk;         // aligned to 16 bytes; may begin before `first` and end after `last`
  const T *first, *last;  // the wanted units; equal where there are none
  const T *low, *high;    // the readable range around them
  int to;                 // destination, in chunks

  __device__ __forceinline__ bool wanted() const {
    return first < last && chunk < last && chunk + per_chunk(sizeof(T)) > first;
  }
  __device__ __forceinline__ bool whole() const { return chunk >= low && chunk + per_chunk(sizeof(T)) <= high; }
};

// Copies chunks [0, count), which source(i) describes, into shared memory by all threads of the block. Chunks that are
// not readable as a whole are read unit by unit. They have arrived after tile::wait_for_copies() and a barrier.
template <int Threads, class T, class F> __device__ __forceinline__ void stage_chunks(T* shared, int count, F source) {
  constexpr int V = per_chunk(sizeof(T));
  for (int i = threadIdx.x; i < count; i += Threads) {
    const Source<T> s = source(i);
    if (!s.wanted()) continue;
    if (s.whole()) {
      tile::copy_async<chunk_bytes>(shared + s.to * V, s.chunk);
    } else {
#pragma unroll 1
      for (int v = 0; v < V; ++v)
        if (s.chunk + v >= s.first && s.chunk + v < s.last) shared[s.to * V + v] = s.chunk[v];
    }
  }
}

// Writes unit(0) ... unit(V - 1) to line[first], line[first + 1], ..., as far as these are within line[low, high).
// Precondition: line + first is aligned to 16 bytes.
template <class T, class F>
__device__ __forceinline__ void write_chunk(T* line, std::int64_t first, std::int64_t low, std::int64_t high, F unit) {
  constexpr int V = per_chunk(sizeof(T));
  if (first >= low && first + V <= high) {
    tile::Vector<T> chunk;
#pragma unroll
    for (int v = 0; v < V; ++v) chunk[v] = unit(v);
    store_packed(line + first, tile::pack<T>(chunk));
  } else {
#pragma unroll 1
    for (int v = 0; v < V; ++v)
      if (first + v >= low && first + v < high) line[first + v] = unit(v);
  }
}

}  // namespace ridge::transpose_detail
