// A block folds a slice of a row, or some lanes of a warp fold a row. One loop serves both and every type, where a
// row's elements are neighbours. columns.cuh is for others.
#pragma once
#include <ridge/reduce/finish.cuh>
#include <ridge/tile/last_block.cuh>

namespace ridge::reduce_detail {

// What makes one kernel of these templates differ from another: rows of the table with the same shape share it.
template <int Threads, int Lanes, int AccessBytes, int Vectors, int BlocksPerSm> struct Shape {
  static constexpr int threads = Threads, row_threads = Lanes ? Lanes : Threads, vectors = Vectors,
                       blocks_per_sm = BlocksPerSm;
  template <class T> static constexpr int elements = AccessBytes > int(sizeof(T)) ? AccessBytes / int(sizeof(T)) : 1;
  template <class T> static constexpr int in_columns = column_vectors(Vectors, sizeof(T));
};

// How far into an access of V elements a row starts.
template <int V, class T> __device__ __forceinline__ int misalignment(const T* row) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % V);
}

// A row as its threads read it: V elements at a position. Position 0 starts on V elements, the row at `first`. An
// access that is not wholly the row's is not made; its elements are the row's edges, fewer than V at either end.
template <class S, class R> struct RowReader {
  using T = typename R::Element;
  static constexpr int V = S::template elements<T>;
  using Vec = simt::vec<T, V>;
  // An access on its way from memory: whole registers, so that bytes are taken apart only where they are used.
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

// What one of the threads of a row's slice gathers: slice_tiles neighbouring tiles, and the last slice what is left.
//   tile: [vectors, threads, V]
template <class S, class R>
__device__ typename R::Partial fold(const Input<typename R::Element>& in, std::int64_t row, int rank,
                                    std::int64_t slice, std::int64_t slices, std::int64_t slice_tiles) {
  using T = typename R::Element;
  using Reader = RowReader<S, R>;
  constexpr int V = Reader::V, U = S::vectors, step = S::row_threads * V;
  constexpr std::int64_t tile = std::int64_t{step} * U;
  const Reader reader(in, row);

  // load: the edges, which the first slice sees to. They are used last, so that nothing waits for them.
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
  // Only a row's first tile and its last can have accesses that are not wholly the row's. Without those two, the loop
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

// partials[r][s] = R over slice s of row r; of one slice, y[r] = R over row r
//   x: [rows, cols]  z: [rows, cols] or none  partials: [rows, slices]  y: [rows]
// Preconditions: a row's elements are neighbours, and row r of x and z are equally misaligned.
template <class S, class R, int Warp>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_slices(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials,
                  std::int64_t slices, std::int64_t slice_tiles, Finish finish) {
  const tile::block<S::threads, Warp> block;
  for (std::int64_t row = blockIdx.x; row < in.rows; row += gridDim.x)
    for (std::int64_t slice = blockIdx.y; slice < slices; slice += gridDim.y) {
      const auto partial = block.reduce(fold<S, R>(in, row, block.rank(), slice, slices, slice_tiles), Combine<R>());
      if (slices == 1) write_result<R>(in, y, row, partial, finish, block);
      else if (block.rank() == 0) partials[row * slices + slice] = partial;
    }
}

// y[0] = R over the one row there is, in one launch: the last block to arrive combines all partial results, always in
// the same order, whichever block it is.
//   x: [1, cols]  partials: [slices]  y: [1]
// Preconditions: as above; gridDim.y is slices, which are tile::most_arrivals at most; R does not locate.
template <class S, class R, int Warp>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_last_block(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials,
                      tile::Arrivals* arrivals, tile::Arrivals run, std::int64_t slices, std::int64_t slice_tiles,
                      Finish finish) {
  const tile::block<S::threads, Warp> block;
  const std::int64_t slice = blockIdx.y;
  auto partial = block.reduce(fold<S, R>(in, 0, block.rank(), slice, slices, slice_tiles), Combine<R>());
  if (block.rank() == 0) partials[slice] = partial;
  if (!tile::is_last_to_arrive(arrivals, run, slices)) return;
  partial = R::identity();
  for (std::int64_t s = block.rank(); s < slices; s += S::threads) partial = R::combine(partial, partials[s]);
  write_result<R>(in, y, 0, block.reduce(partial, Combine<R>()), finish, block);
}

// y[r] = R over row r                                x: [rows, cols]  y: [rows]
// Preconditions: as above; S::row_threads is at most the warp.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_rows(Input<typename R::Element> in, typename R::Output* y, Finish finish) {
  const simt::tiles<S::row_threads> lanes;
  constexpr int groups = S::threads / S::row_threads;  // rows of a block at a time
  for (std::int64_t first = std::int64_t{blockIdx.x} * groups; first < in.rows;
       first += std::int64_t{gridDim.x} * groups) {
    const std::int64_t mine = first + lanes.index(), row = ::min(mine, in.rows - 1);  // beyond the last: that one again
    const auto partial = lanes.reduce(fold<S, R>(in, row, lanes.rank(), 0, 1, 0), Combine<R>());
    write_result<R>(in, y, row, partial, finish, lanes, mine == row);
  }
}

}  // namespace ridge::reduce_detail
