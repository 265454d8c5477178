// A block or some lanes of a warp fold a contiguous row: one loop serves both, and every type.
#pragma once
#include <ridge/reduce/finish.cuh>

namespace ridge::reduce_detail {

// A row as its threads read it: V elements at a position. Position 0 is aligned to V elements, the row starts at
// `first`. An access that is not wholly within the row is not made; its elements are the row's edges, fewer than V at
// either end.
template <class S, class R> struct RowReader {
  using T = typename R::Element;
  static constexpr int V = S::template elements<T>;
  using Vec = simt::vec<T, V>;
  // An access in flight: whole registers, so that bytes are unpacked only where they are used.
  using Word = std::conditional_t<sizeof(Vec) % 4 == 0, std::uint32_t, T>;
  struct Access {
    Word words[sizeof(Vec) / sizeof(Word)];
    __device__ __forceinline__ Vec elements() const {
      Vec v;
      memcpy(&v, words, sizeof v);
      return v;
    }
  };
  static __device__ __forceinline__ Access pack(const Vec& v) {
    Access access;
    memcpy(access.words, &v, sizeof v);
    return access;
  }

  const T *x, *z;  // at position 0
  int first;       // of both inputs
  std::int64_t end;

  __device__ __forceinline__ RowReader(const Input<T>& in, std::int64_t row) : z(nullptr) {
    x = in.x + row_offset(in.axes, in.axes.x, row);
    if constexpr (R::inputs == 2) z = in.z + row_offset(in.axes, in.axes.z, row);
    first = misalignment<V>(x);
    x -= first;
    if constexpr (R::inputs == 2) z -= first;
    end = in.cols + first;
  }
  static __device__ __forceinline__ Access load(const T* data, std::int64_t at) {
    return pack(simt::load<V>(data + at));
  }
  static __device__ __forceinline__ Access nothing() {
    Vec none;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) none[v] = R::neutral();
    return pack(none);
  }
  __device__ __forceinline__ bool is_whole(std::int64_t at) const { return at >= first && at + V <= end; }

  __device__ __forceinline__ int head() const {
    return first == 0 ? 0 : static_cast<int>(::min(std::int64_t{V}, end)) - first;
  }
  __device__ __forceinline__ int tail() const { return end > V || first == 0 ? static_cast<int>(end % V) : 0; }
  __device__ __forceinline__ std::int64_t edge(int i) const {
    return i < head() ? first + i : end - tail() + i - head();
  }
};

// A thread's partial result of a row's slice: slice_tiles neighbouring tiles; the last slice has the remaining ones.
//   tile: [vectors, threads, V]
template <class S, class R>
__device__ typename R::Partial fold(const Input<typename R::Element>& in, std::int64_t row, int rank,
                                    std::int64_t slice, std::int64_t slices, std::int64_t slice_tiles) {
  using T = typename R::Element;
  using Reader = RowReader<S, R>;
  constexpr int V = Reader::V, U = S::vectors, step = S::row_threads * V;
  constexpr std::int64_t tile = std::int64_t{step} * U;
  const Reader reader(in, row);

  // load: the edges, in the first slice. They are used last, so that nothing waits for them.
  constexpr int E = (2 * V - 2 + S::row_threads - 1) / S::row_threads;
  const int edges = slice == 0 ? reader.head() + reader.tail() : 0;
  [[maybe_unused]] T edge_x[E ? E : 1], edge_z[E ? E : 1];
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < E; ++e) {
    const int i = rank + e * S::row_threads;
    edge_x[e] = edge_z[e] = R::neutral();
    if (i >= edges) continue;
    edge_x[e] = reader.x[reader.edge(i)];
    if constexpr (R::inputs == 2) edge_z[e] = reader.z[reader.edge(i)];
  }

  typename R::template Running<V> running;
  const auto take = [&](std::int64_t t, auto guarded) {
    typename Reader::Access x[U], z[U];
    const std::int64_t at = t * tile + rank * V;
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {  // load: U independent accesses
      bool whole = true;
      if constexpr (guarded.value) {
        whole = reader.is_whole(at + u * step);
        x[u] = z[u] = Reader::nothing();
      }
      if (whole) x[u] = reader.load(reader.x, at + u * step);
      if constexpr (R::inputs == 2)
        if (whole) z[u] = reader.load(reader.z, at + u * step);
    }
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {  // compute
      if constexpr (R::inputs == 2) running.add(x[u].elements(), z[u].elements());
      else running.add(x[u].elements());
    }
    running.end_of_tile(t);
  };
  std::int64_t t = slice * slice_tiles;
  const std::int64_t end = slice == slices - 1 ? reader.end : (t + slice_tiles) * tile;
  // Only a row's first and last tile can have accesses that are not wholly within the row. Without those two, the loop
  // has no branch, and the loads of a tile need not wait for the sums of the tile before.
  if (t == 0 && reader.first > 0) take(t++, std::true_type());
  for (; (t + 1) * tile <= end; ++t) take(t, std::false_type());
  if (t * tile < end) take(t, std::true_type());

  auto partial = running.result();
  RIDGE_UNROLL_ON_GPU
  for (int e = 0; e < E; ++e) {
    const int i = rank + e * S::row_threads;
    if (i < edges) partial = R::combine(partial, R::lift(edge_x[e], edge_z[e], reader.edge(i) / tile));
  }
  return partial;
}

}  // namespace ridge::reduce_detail
