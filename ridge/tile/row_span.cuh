// Short rows that lie in memory without gaps: a block brings all of its rows to shared memory as one span, in 16-byte
// accesses wherever rows begin, then a thread has a row to itself, and the block writes the span as it was brought.
//
//   const RowSpan<T> span(x, rows * cols);  span.bring<threads>(x, room);  __syncthreads();
//   const SpanRow<T> own(cols);  for (r = own.first(); r < rows; r += threads) ... own.at(j) ...;  __syncthreads();
//   span.send<threads>(room, y);
#pragma once
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_span.hpp>

namespace ridge::tile {

// Elements [0, size) from `start` on: up to V - 1 of them before the first 16-byte boundary, whole units, and as few
// behind. In shared memory they lie from element `lead` of a room on, so that units there are units of global memory.
template <class T> struct RowSpan {
  static constexpr int V = unit_elements<T>;
  int size, lead, head, units;

  __device__ __forceinline__ RowSpan(const T* start, int elements) : size(elements) {
    lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(start) % unit_bytes / sizeof(T));
    head = lead == 0 ? 0 : ::min(V - lead, size);
    units = (size - head) / V;
  }

  // use(at, load(at)) for the units of this thread, by fours: as many loads in flight; at: of the unit's first element.
  template <int Threads, class Load, class Use>
  __device__ __forceinline__ void for_units(Load&& load, Use&& use) const {
    constexpr int batch = 4;
    for (int u = static_cast<int>(threadIdx.x); u < units; u += batch * Threads) {
      Packed unit[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (u + k * Threads < units) unit[k] = load(head + (u + k * Threads) * V);
#pragma unroll
      for (int k = 0; k < batch; ++k)
        if (u + k * Threads < units) use(head + (u + k * Threads) * V, unit[k]);
    }
  }
  // f(at) for the element before the units, or behind them, that is this thread's.
  template <class F> __device__ __forceinline__ void for_edge(F&& f) const {
    const int rank = static_cast<int>(threadIdx.x), tail = head + units * V;
    if (rank < head) f(rank);
    else if (rank >= V && rank - V < size - tail) f(tail + rank - V);
  }

  template <int Threads> __device__ __forceinline__ void bring(const T* from, T* room) const {
    room += lead;
    for_units<Threads>([&](int at) { return load_packed(from + at); },
                       [&](int at, const Packed& unit) { store_packed_shared(room + at, unit); });
    for_edge([&](int at) { room[at] = from[at]; });
  }
  // The same by copies that the thread does not wait for (async_copy.cuh).
  template <int Threads> __device__ __forceinline__ void bring_async(const T* from, T* room) const {
    room += lead;
    for (int u = static_cast<int>(threadIdx.x); u < units; u += Threads)
      copy_async<unit_bytes>(room + head + u * V, from + head + u * V);
    for_edge([&](int at) { room[at] = from[at]; });
  }
  // Precondition: `to` lies on units as the span does.
  template <int Threads> __device__ __forceinline__ void send(const T* room, T* to) const {
    room += lead;
    for_units<Threads>([&](int at) { return load_packed(room + at); },
                       [&](int at, const Packed& unit) { store_packed(to + at, unit); });
    for_edge([&](int at) { to[at] = room[at]; });
  }
};

// f(j, whether the row has a j-th element) for those of a row of at most Most, by fours and unrolled, so that f may
// keep them in registers; the last four may pass the row's end.
template <int Most, class F> __device__ __forceinline__ void for_elements(unsigned cols, F&& f) {
  static_assert(Most % 4 == 0);
#pragma unroll
  for (int i = 0; i < Most; i += 4) {
    if (static_cast<unsigned>(i) >= cols) break;
#pragma unroll
    for (int j = i; j < i + 4; ++j) f(j, j == i || static_cast<unsigned>(j) < cols);
  }
}

// The row of a thread, and the order in which it goes through it: such that the lanes of a warp are in as many banks of
// shared memory. Rows whose length has a factor of the banks' number in common with it begin elsewhere in every lane;
// of 16-bit rows of odd length neighbouring lanes have every second row, and the next warp those between.
template <class T> struct SpanRow {
  unsigned cols, start;

  __device__ __forceinline__ explicit SpanRow(int row_cols) : cols(static_cast<unsigned>(row_cols)) {
    constexpr unsigned lanes = sizeof(T) == 8 ? 16 : 32;          // whose accesses are one wavefront
    constexpr unsigned step = sizeof(T) < 4 ? 4 / sizeof(T) : 1;  // elements of a bank
    const unsigned stride = cols % step == 0 ? cols / step : 1, common = stride & (0u - stride);
    start = threadIdx.x % lanes * (common < lanes ? common : lanes) / lanes * step;
  }
  // This thread's first row; its others are as many rows apart as the block has threads.
  __device__ __forceinline__ int first() const {
    const int t = static_cast<int>(threadIdx.x);
    if (sizeof(T) != 2 || cols % 2 == 0) return t;
    return t / span_pair * span_pair + t % 32 * 2 + t / 32 % 2;
  }
  // Of its j-th element the place within the row.
  __device__ __forceinline__ int at(int j) const {
    const unsigned on = start + static_cast<unsigned>(j), around = on - cols;  // beyond any row where it did not wrap
    return static_cast<int>(on < around ? on : around);
  }

  // The same row, of which the compiler does not know it: it would keep every place of one pass for the next one.
  __device__ __forceinline__ SpanRow again() const {
    SpanRow row = *this;
    make_opaque(row.start);
    return row;
  }

  // f(j, at) for all elements as for_elements() goes through them; beyond the row's end at is -1.
  template <int Most, class F> __device__ __forceinline__ void unrolled(F&& f) const {
    for_elements<Most>(cols, [&](int j, bool has) { f(j, has ? at(j) : -1); });
  }
};

}  // namespace ridge::tile
