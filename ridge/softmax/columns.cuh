// Rows that lie side by side, their elements apart, as those of an axis that is not the last: neighbouring lanes have
// neighbouring rows, so accesses are coalesced, and a block's warps have parts of them. A thread keeps its first
// elements in registers, which for rows of up to parts * in_registers elements are all: these are read once.
#pragma once
#include <ridge/softmax/columns.hpp>
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>

namespace ridge::softmax_detail {

// [batches, cols, inner], of which the `inner` elements are contiguous; a row is the cols elements at (batch, i).
template <class P> struct RowsSideBySide {
  P* data;
  std::int64_t pitch, step;  // between batches, between a row's elements
};

// A thread's place: V neighbouring rows, and every `parts`-th element of them from `part` on, of which it keeps `kept`.
template <class Policy, class T, int V, bool Backward> struct ColumnLane {
  static constexpr Config c = Policy::config;
  static constexpr int parts = columns::parts(c), kept = columns::kept(c, Backward, V, sizeof(T));
  int lane, part;
  std::int64_t batch, within;
  bool exists;
  __device__ __forceinline__ ColumnLane(std::int64_t rows, std::int64_t inner)
      : lane(static_cast<int>(threadIdx.x) % c.rows), part(static_cast<int>(threadIdx.x) / c.rows) {
    const std::int64_t row = (std::int64_t{blockIdx.x} * c.rows + lane) * V;
    batch = row / inner;
    within = row - batch * inner;
    exists = row < rows;
  }
  template <class P> __device__ __forceinline__ P* at(const RowsSideBySide<P>& rows, std::int64_t col) const {
    return rows.data + batch * rows.pitch + within + col * rows.step;
  }
  // Whether loops over a chunk end with its last element. Pairs of 16-bit elements are then taken apart, which costs
  // more than absent elements do: on an H100, 64 x 1024 x 196 in bf16 120 us instead of 73; in float32 8 x 19 x 512^2
  // 128 instead of 217.
  static constexpr bool ends = V == 1;
  // f(i, element's index, whether it exists) for the thread's elements of a chunk, which begins with number `first`.
  template <class F> __device__ __forceinline__ void for_chunk(std::int64_t first, std::int64_t cols, F f) const {
    const int count = count_of_chunk(first, cols);
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      if (ends && i >= count) break;  // all threads alike
      const std::int64_t col = (first + i) * parts + part;
      f(i, col, exists && col < cols);
    }
  }
  static __device__ __forceinline__ int count_of_chunk(std::int64_t first, std::int64_t cols) {
    const std::int64_t left = per_thread(cols) - first;
    return left < kept ? static_cast<int>(left) : kept;
  }
  // The number of elements that the part with the most has.
  static __device__ __forceinline__ std::int64_t per_thread(std::int64_t cols) { return (cols + parts - 1) / parts; }

  // What all parts of the lane's rows have, merged by op.
  template <class S, class Op>
  __device__ __forceinline__ void merge_parts(S (&own)[V], S (&shared)[parts][c.rows * V], Op op) const {
    if constexpr (parts > 1) {
#pragma unroll
      for (int v = 0; v < V; ++v) shared[part][v * c.rows + lane] = own[v];
      __syncthreads();
#pragma unroll
      for (int v = 0; v < V; ++v) own[v] = shared[0][v * c.rows + lane];
#pragma unroll 4
      for (int other = 1; other < parts; ++other)
#pragma unroll
        for (int v = 0; v < V; ++v) own[v] = op(own[v], shared[other][v * c.rows + lane]);
    }
  }
};

// y = softmax(x) along cols                        x: [batches, cols, inner]  y: the same; rows = batches * inner
// Preconditions: gridDim.x * Config::rows * V covers rows; inner and all strides are multiples of V, and pointers of V
// elements. y may be x: a thread reads only what it writes.
template <class Policy, class T, int V>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_columns(RowsSideBySide<const T> x, RowsSideBySide<T> y, std::int64_t rows, std::int64_t inner,
                    std::int64_t cols, bool log) {
  using X = Compute<T>;
  using Lane = ColumnLane<Policy, T, V, false>;
  using Seen = tile::OnlineSoftmax<X>;
  constexpr int kept = Lane::kept;
  __shared__ Seen shared[Lane::parts][Policy::config.rows * V];
  const Lane lane(rows, inner);

  // ---- load and compute: chunk by chunk; absent elements are -inf, which changes neither maximum nor sum
  simt::vec<T, V> first[kept];
  Seen seen[V];
#pragma unroll
  for (int v = 0; v < V; ++v) seen[v] = Seen::nothing();
  const auto load = [&](std::int64_t from, simt::vec<T, V>(&chunk)[kept]) {
    lane.for_chunk(from, cols, [&](int i, std::int64_t col, bool exists) {
      if (exists) chunk[i] = simt::load<V>(lane.at(x, col));
      else
        for (int v = 0; v < V; ++v) chunk[i][v] = T(tile::minus_infinity<float>);
    });
  };
  const auto add = [&](std::int64_t from, const simt::vec<T, V>(&chunk)[kept]) {
    const int count = Lane::count_of_chunk(from, cols);
    Seen of_chunk[V];
#pragma unroll
    for (int v = 0; v < V; ++v) of_chunk[v] = Seen::nothing();
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      if (Lane::ends && i >= count) break;
#pragma unroll
      for (int v = 0; v < V; ++v) of_chunk[v].max = tile::greater(of_chunk[v].max, X(chunk[i][v]));
    }
    X base[V];
#pragma unroll
    for (int v = 0; v < V; ++v) base[v] = tile::softmax_base(of_chunk[v].max);
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      if (Lane::ends && i >= count) break;
#pragma unroll
      for (int v = 0; v < V; ++v) of_chunk[v].sum += tile::exponential(X(chunk[i][v]) - base[v]);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) seen[v] = tile::merge(seen[v], of_chunk[v]);
  };
  load(0, first);
  add(0, first);
  for (std::int64_t from = kept; from < Lane::per_thread(cols); from += kept) {
    simt::vec<T, V> chunk[kept];
    load(from, chunk);
    add(from, chunk);
  }
  lane.merge_parts(seen, shared, [](const Seen& a, const Seen& b) { return tile::merge(a, b); });

  // ---- finish: elements that are not kept are read again
  Normalise<X> normalise[V];
#pragma unroll
  for (int v = 0; v < V; ++v) normalise[v] = Normalise<X>(seen[v].max, seen[v].sum, log);
  const auto store = [&](std::int64_t from, const simt::vec<T, V>(&chunk)[kept]) {
    lane.for_chunk(from, cols, [&](int i, std::int64_t col, bool exists) {
      if (!exists) return;
      simt::vec<T, V> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = T(normalise[v](X(chunk[i][v])));
      simt::store(lane.at(y, col), out);
    });
  };
  store(0, first);
  for (std::int64_t from = kept; from < Lane::per_thread(cols); from += kept) {
    simt::vec<T, V> chunk[kept];
    load(from, chunk);
    store(from, chunk);
  }
}

// dx from y and dy, along cols                     y, dy, dx: [batches, cols, inner]; rows = batches * inner
// Preconditions as above. dx may be y or dy.
template <class Policy, class T, int V>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_gradient_columns(RowsSideBySide<const T> y, RowsSideBySide<const T> dy, RowsSideBySide<T> dx,
                             std::int64_t rows, std::int64_t inner, std::int64_t cols, bool log) {
  using X = Compute<T>;
  using Lane = ColumnLane<Policy, T, V, true>;
  constexpr int kept = Lane::kept;
  __shared__ X shared[Lane::parts][Policy::config.rows * V];
  const Lane lane(rows, inner);
  const Gradient<X> gradient{log};

  // ---- load and compute: absent elements are 0 in dy, and so are their terms
  simt::vec<T, V> first_y[kept], first_dy[kept];
  X sum[V] = {};
  const auto load = [&](std::int64_t from, simt::vec<T, V>(&chunk_y)[kept], simt::vec<T, V>(&chunk_dy)[kept]) {
    lane.for_chunk(from, cols, [&](int i, std::int64_t col, bool exists) {
      if (exists) {
        chunk_y[i] = simt::load<V>(lane.at(y, col));
        chunk_dy[i] = simt::load<V>(lane.at(dy, col));
      } else {
        for (int v = 0; v < V; ++v) chunk_y[i][v] = chunk_dy[i][v] = T(0.0f);
      }
    });
  };
  const auto add = [&](std::int64_t from, const simt::vec<T, V>(&chunk_y)[kept],
                       const simt::vec<T, V>(&chunk_dy)[kept]) {
    const int count = Lane::count_of_chunk(from, cols);
    X of_chunk[V] = {};
#pragma unroll
    for (int i = 0; i < kept; ++i) {
      if (Lane::ends && i >= count) break;
#pragma unroll
      for (int v = 0; v < V; ++v) of_chunk[v] += gradient.term(X(chunk_y[i][v]), X(chunk_dy[i][v]));
    }
#pragma unroll
    for (int v = 0; v < V; ++v) sum[v] += of_chunk[v];
  };
  load(0, first_y, first_dy);
  add(0, first_y, first_dy);
  for (std::int64_t from = kept; from < Lane::per_thread(cols); from += kept) {
    simt::vec<T, V> chunk_y[kept], chunk_dy[kept];
    load(from, chunk_y, chunk_dy);
    add(from, chunk_y, chunk_dy);
  }
  lane.merge_parts(sum, shared, [](X a, X b) { return a + b; });

  // ---- finish: elements that are not kept are read again
  const auto store = [&](std::int64_t from, const simt::vec<T, V>(&chunk_y)[kept],
                         const simt::vec<T, V>(&chunk_dy)[kept]) {
    lane.for_chunk(from, cols, [&](int i, std::int64_t col, bool exists) {
      if (!exists) return;
      simt::vec<T, V> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = T(gradient.dx(X(chunk_y[i][v]), X(chunk_dy[i][v]), sum[v]));
      simt::store(lane.at(dx, col), out);
    });
  };
  store(0, first_y, first_dy);
  for (std::int64_t from = kept; from < Lane::per_thread(cols); from += kept) {
    simt::vec<T, V> chunk_y[kept], chunk_dy[kept];
    load(from, chunk_y, chunk_dy);
    store(from, chunk_y, chunk_dy);
  }
}

namespace columns {

template <class P> static RowsSideBySide<P> rows_at(P* data, const Rows& rows) {
  return {data, rows.outer.rank == 2 ? rows.outer.stride[0] : 0, rows.step};
}

// launch_as(std::integral_constant<int, V>), for the V that the rows allow.
template <class T, class Launch> static Status with_width(const SoftmaxProblem& p, Launch launch_as) {
  if constexpr (sizeof(T) < 4)
    if (width(p) > 1) return launch_as(std::integral_constant<int, 4 / sizeof(T)>{});
  return launch_as(std::integral_constant<int, 1>{});
}

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return with_width<T>(p, [&](auto v) {
    return simt::launch(launch_config(call, Warp), softmax_columns<Policy, T, v()>, rows_at(call.x, *p.x),
                        rows_at(call.y, *p.y), p.rows, p.x->outer.shape[p.x->outer.rank - 1], p.cols, p.log);
  });
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return with_width<T>(p, [&](auto v) {
    return simt::launch(launch_config(call, Warp), softmax_gradient_columns<Policy, T, v()>, rows_at(call.y, *p.x),
                        rows_at(call.dy, *p.dy), rows_at(call.dx, *p.y), p.rows, p.x->outer.shape[p.x->outer.rank - 1],
                        p.cols, p.log);
  });
}

}  // namespace columns
}  // namespace ridge::softmax_detail
