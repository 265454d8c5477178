// Short rows without gaps between them: a block loads all of its rows to shared memory as one span, in 16-byte accesses
// wherever rows start; then each thread works on a row of its own, and the block stores the span the same way.
//
//   const RowSpan<T> span(x, rows * cols);  span.load<threads>(x, room);  __syncthreads();
//   const SpanRow<T> own(cols);  for (r = own.first(); r < rows; r += threads) ... own.at(j) ...;  __syncthreads();
//   span.store<threads>(room, y);
#pragma once
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_span.hpp>

namespace ridge::tile {

// The elements [0, size) from `start` on: a head of up to V - 1 before the first 16-byte boundary, whole vectors, and a
// tail. In shared memory they start at element `lead` of their room, so that vectors are aligned there too.
template <class T> struct RowSpan {
  static constexpr int V = vector_elements<T>;
  int size, lead, head, vectors;

  __device__ __forceinline__ RowSpan(const T* start, int elements) : size(elements) {
    lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(start) % vector_bytes / sizeof(T));
    head = lead == 0 ? 0 : ::min(V - lead, size);
    vectors = (size - head) / V;
  }

  // Calls use(at, load(at)) for this thread's vectors, four loads in flight. at: the vector's first element.
  template <int Threads, class Load, class Use>
  __device__ __forceinline__ void for_vectors(Load&& load, Use&& use) const {
    constexpr int batch = 4;
    for (int u = static_cast<int>(threadIdx.x); u < vectors; u += batch * Threads) {
      Packed vector[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (u + k * Threads < vectors) vector[k] = load(head + (u + k * Threads) * V);
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (u + k * Threads < vectors) use(head + (u + k * Threads) * V, vector[k]);
    }
  }
  // Calls f(at) for this thread's element of the head or tail, if it has one.
  template <class F> __device__ __forceinline__ void for_edge(F&& f) const {
    const int rank = static_cast<int>(threadIdx.x), tail = head + vectors * V;
    if (rank < head) f(rank);
    else if (rank >= V && rank - V < size - tail) f(tail + rank - V);
  }

  template <int Threads> __device__ __forceinline__ void load(const T* from, T* room) const {
    room += lead;
    for_vectors<Threads>([&](int at) { return load_packed(from + at); },
                         [&](int at, const Packed& vector) { store_packed_shared(room + at, vector); });
    for_edge([&](int at) { room[at] = from[at]; });
  }
  // The same by asynchronous copies (async_copy.cuh).
  template <int Threads> __device__ __forceinline__ void load_async(const T* from, T* room) const {
    room += lead;
    for (int u = static_cast<int>(threadIdx.x); u < vectors; u += Threads)
      copy_async<vector_bytes>(room + head + u * V, from + head + u * V);
    for_edge([&](int at) { room[at] = from[at]; });
  }
  // Precondition: `to` and the span are co-aligned.
  template <int Threads> __device__ __forceinline__ void store(const T* room, T* to) const {
    room += lead;
    for_vectors<Threads>([&](int at) { return load_packed(room + at); },
                         [&](int at, const Packed& vector) { store_packed(to + at, vector); });
    for_edge([&](int at) { to[at] = room[at]; });
  }
};

// Calls f(j, whether the row has a j-th element) for the elements of a row of at most Most, unrolled by fours, so that
// f may keep them in registers; the last four may pass the row's end.
template <int Most, class F> __device__ __forceinline__ void for_elements(unsigned cols, F&& f) {
  static_assert(Most % 4 == 0);
#pragma unroll
  for (int i = 0; i < Most; i += 4) {
    if (static_cast<unsigned>(i) >= cols) break;
#pragma unroll
    for (int j = i; j < i + 4; ++j) f(j, j == i || static_cast<unsigned>(j) < cols);
  }
}

// A thread's row, and the order in which the thread goes through it: one that has the lanes of a warp in different
// banks of shared memory. Where the row length shares a factor with the number of banks, every lane starts at another
// element; for 16-bit rows of odd length, neighbouring lanes have every second row, and the next warp has those
// between.
template <class T> struct SpanRow {
  unsigned cols, start;

  __device__ __forceinline__ explicit SpanRow(int row_cols) : cols(static_cast<unsigned>(row_cols)) {
    constexpr unsigned lanes = sizeof(T) == 8 ? 16 : 32;          // whose accesses are one wavefront
    constexpr unsigned step = sizeof(T) < 4 ? 4 / sizeof(T) : 1;  // elements of a bank
    const unsigned stride = cols % step == 0 ? cols / step : 1, common = stride & (0u - stride);
    start = threadIdx.x % lanes * (common < lanes ? common : lanes) / lanes * step;
  }
  // This thread's first row; its next ones follow at a distance of the block's threads.
  __device__ __forceinline__ int first() const {
    const int t = static_cast<int>(threadIdx.x);
    if (sizeof(T) != 2 || cols % 2 == 0) return t;
    return t / span_pair * span_pair + t % 32 * 2 + t / 32 % 2;
  }
  // Position within the row of the j-th element in this order.
  __device__ __forceinline__ int at(int j) const {
    const unsigned on = start + static_cast<unsigned>(j), around = on - cols;  // beyond any row where it did not wrap
    return static_cast<int>(on < around ? on : around);
  }

  // The same row, hidden from the compiler, which would keep every position of one pass in a register for the next.
  __device__ __forceinline__ SpanRow again() const {
    SpanRow row = *this;
    make_opaque(row.start);
    return row;
  }

  // Calls f(j, at) for all elements, as for_elements() does; at is -1 beyond the row's end.
  template <int Most, class F> __device__ __forceinline__ void unrolled(F&& f) const {
    for_elements<Most>(cols, [&](int j, bool has) { f(j, has ? at(j) : -1); });
  }
};

}  // namespace ridge::tile
