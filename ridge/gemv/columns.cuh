// Neighbouring lanes take neighbouring rows: layout t, where these are contiguous. With one element per access, the
// same kernel takes any strides. And the finish, which adds partial results.
#pragma once
#include <ridge/gemv/rows.cuh>
#include <ridge/tile/columns.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::gemv_detail {

// A thread's sums for V neighbouring rows: their products of the elements begin, begin + depth, ... before end.
template <class S, class T>
__device__ __forceinline__ auto multiply_columns(const Product<T>& p, const T* a, std::int64_t begin, std::int64_t end,
                                                 int depth) {
  constexpr int V = S::template elements<T>, U = S::vectors;
  simt::vec<Sum<T>, V> sums{};
  const auto take = [&](std::int64_t k, auto guarded) {
    simt::vec<T, V> column[U];
    T x[U];
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {  // load: U independent accesses, and as many of x, which all lanes share
      const std::int64_t at = k + u * depth;
      bool exists = true;
      if constexpr (guarded.value) {
        exists = at < end;
        column[u] = {};
        x[u] = T(0);
      }
      if (!exists) continue;
      column[u] = simt::load<V>(a + at * p.k_stride);
      x[u] = p.x[at * p.x_stride];
    }
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {
      const Sum<T> factor = static_cast<Sum<T>>(x[u]);
      if constexpr (V == 1) {
        sums[0] += static_cast<Sum<T>>(column[u][0]) * factor;
      } else {
        float f[V];
        tile::to_floats(column[u], f);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sums[v] += f[v] * factor;
      }
    }
  };
  std::int64_t k = begin;
  for (; k + (U - 1) * depth < end; k += U * depth) take(k, std::false_type());
  if (U > 1 && k < end) take(k, std::true_type());
  return sums;
}

// partials[s][row] = the products of slice s of a row; with one slice, y = epilogue(A x)
//   A: [m, k]  x: [k]  partials: [slices, m]  y: [m]
// Preconditions: dynamic shared memory is tile::column_scratch(). Where V, the elements of an access, is more than one:
// A's row_stride is 1, V divides m, and A and its k_stride are multiples of V.
template <class S, class T>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    gemv_columns(Product<T> p, Sum<T>* partials, tile::ColumnBlock k, std::int64_t slice_elements, std::int64_t slices,
                 Epilogue<T> epilogue) {
  tile::launch_dependents();  // the finish
  constexpr int V = S::template elements<T>;
  const tile::ColumnThread at(k);
  const std::int64_t in_block = std::int64_t{k.groups} * k.lanes * V;
  for (std::int64_t b = blockIdx.x; b * in_block < p.m; b += gridDim.x) {
    const std::int64_t row = b * in_block + (std::int64_t{at.group} * k.lanes + at.lane) * V;
    const bool exists = row < p.m;
    const T* a = p.a + (exists ? row * p.row_stride : 0);
    for (std::int64_t slice = blockIdx.y; slice < slices; slice += gridDim.y) {
      const std::int64_t begin = slice * slice_elements, end = exists ? ::min(begin + slice_elements, p.k) : 0;
      auto sums = multiply_columns<S>(p, a, begin + at.level, end, k.depth);
      tile::merge_levels(sums, at, k, Add<Sum<T>>());
      if (at.level > 0 || !exists) continue;
      if (slices > 1) {
        simt::store(partials + slice * p.m + row, sums);
        continue;
      }
      RIDGE_KEEP_LOOP
      for (int i = 0; i < V; ++i) {  // rows rotate through place 0: the epilogue exists once
        epilogue(row + i, sums[0]);
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v + 1 < V; ++v) sums[v] = sums[v + 1];
      }
    }
  }
}

// y = epilogue(the sum of partials[...][row])       partials: [slices, m]  y: [m]
// It may be launched before the partial results exist (tile/dependent_launch.cuh).
// Preconditions: dynamic shared memory is tile::column_scratch() of one partial result; blocks have Threads threads.
template <int Threads, int U, class T>
__global__ void __launch_bounds__(Threads) gemv_finish(const Sum<T>* partials, std::int64_t m, std::int64_t slices,
                                                       tile::ColumnBlock k, Epilogue<T> epilogue) {
  const tile::ColumnThread at(k);
  const std::int64_t in_block = std::int64_t{k.groups} * k.lanes;
  tile::grid_dependency_wait();
  for (std::int64_t b = blockIdx.x; b * in_block < m; b += gridDim.x) {
    const std::int64_t row = b * in_block + std::int64_t{at.group} * k.lanes + at.lane;
    simt::vec<Sum<T>, 1> sum{};
    for (std::int64_t s = at.level; row < m && s < slices; s += U * k.depth) {
      Sum<T> partial[U];
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u)
        partial[u] = s + u * k.depth < slices ? partials[(s + u * k.depth) * m + row] : Sum<T>(0);
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u) sum[0] += partial[u];
    }
    tile::merge_levels(sum, at, k, Add<Sum<T>>());
    if (at.level == 0 && row < m) epilogue(row, sum[0]);
  }
}

}  // namespace ridge::gemv_detail
