// Contiguous rows: some lanes of a warp, or a block, multiply a row by x and add up.
#pragma once
#include <ridge/gemv/epilogue.cuh>
#include <ridge/tile/block_reduce.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::gemv_detail {

// A [m, k] and x [k]; element (i, j) of A is at i * row_stride + j * k_stride.
template <class T> struct Product {
  const T *a, *x;
  std::int64_t m, k, row_stride, k_stride, x_stride;
};

// The parameters that distinguish the kernels of these templates: rows of the table with the same shape share one.
template <int Threads, int Lanes, int AccessBytes, int Rows, int Vectors, int BlocksPerSm> struct Shape {
  static constexpr int threads = Threads, lanes = Lanes, rows = Rows, vectors = Vectors, blocks_per_sm = BlocksPerSm;
  template <class T> static constexpr int elements = AccessBytes > int(sizeof(T)) ? AccessBytes / int(sizeof(T)) : 1;
};

// sum + a . x, of V elements.
template <class T, int V>
__device__ __forceinline__ Sum<T> add_products(const simt::vec<T, V>& a, const simt::vec<T, V>& x, Sum<T> sum) {
  if constexpr (std::is_same_v<T, double>) {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) sum += a[v] * x[v];
  } else {
    float f[V], g[V];
    tile::to_floats(a, f);
    tile::to_floats(x, g);
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) sum += f[v] * g[v];
  }
  return sum;
}

// sums[r] += this thread's products of row r and x among the elements [begin, end): V at a time, `size` threads side by
// side. All rows' accesses of an iteration are issued before the first is used; a part of x serves all rows.
// Preconditions: begin and end are multiples of V; rows and x are aligned to V elements.
template <int V, int U, int R, class T>
__device__ __forceinline__ void multiply_rows(const T* const (&rows)[R], const T* x, std::int64_t begin,
                                              std::int64_t end, int rank, int size, Sum<T> (&sums)[R]) {
  using Vec = simt::vec<T, V>;
  const std::int64_t step = std::int64_t{size} * V;
  const auto take = [&](std::int64_t k, auto guarded) {
    Vec a[R][U], part[U];
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {
      bool exists = true;
      if constexpr (guarded.value) {
        exists = k + u * step < end;
        part[u] = Vec{};
        RIDGE_UNROLL_ON_GPU
        for (int r = 0; r < R; ++r) a[r][u] = Vec{};
      }
      if (!exists) continue;
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < R; ++r) a[r][u] = simt::load<V>(rows[r] + k + u * step);
      part[u] = simt::load<V>(x + k + u * step);
    }
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) {
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < R; ++r) sums[r] = add_products(a[r][u], part[u], sums[r]);
    }
  };
  std::int64_t k = begin + rank * V;
  for (; k + (U - 1) * step < end; k += U * step) take(k, std::false_type());
  if (U > 1 && k < end) take(k, std::true_type());
}

// y = epilogue(A x)                                 A: [m, k]  x: [k]  y: [m]
// Groups of `lanes` threads have S::rows rows each, with a stride of the block's groups: a warp's access reads one
// piece.
// Preconditions: A is contiguous along k, and x is; V, the elements of an access, divides k, and rows and x are aligned
// to V elements.
template <class S, class T>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm) gemv_rows(Product<T> p, Epilogue<T> epilogue) {
  constexpr int V = S::template elements<T>, R = S::rows, L = S::lanes, groups = S::threads / L;
  const simt::tiles<L> lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * groups * R; first < p.m;
       first += std::int64_t{gridDim.x} * groups * R) {
    const T* rows[R];
    Sum<T> sums[R] = {};
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < R; ++r)  // a row past the end is the last one, read again
      rows[r] = p.a + ::min(first + r * groups + lanes.index(), p.m - 1) * p.row_stride;
    multiply_rows<V, S::vectors>(rows, p.x, 0, p.k, lanes.rank(), L, sums);
    RIDGE_UNROLL_ON_GPU
    for (int r = 0; r < R; ++r) sums[r] = lanes.reduce(sums[r], Add<Sum<T>>());
    // All lanes have all sums; each lane writes every L-th row.
    RIDGE_KEEP_LOOP
    for (int base = 0; base < R; base += L) {
      Sum<T> mine = 0;
      RIDGE_UNROLL_ON_GPU
      for (int r = 0; r < R; ++r)
        if (r == base + lanes.rank()) mine = sums[r];
      const int r = base + lanes.rank();
      const std::int64_t row = first + r * groups + lanes.index();
      if (r < R && row < p.m) epilogue(row, mine);
    }
  }
}

// partials[s][row] = the products of slice s of a row; with one slice, y = epilogue(A x)
//   A: [m, k]  x: [k]  partials: [slices, m]  y: [m]
// Preconditions: as above; slice_elements is a multiple of V.
template <class S, class T, int Warp>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    gemv_block(Product<T> p, Sum<T>* partials, std::int64_t slice_elements, std::int64_t slices, Epilogue<T> epilogue) {
  tile::launch_dependents();  // the finish
  constexpr int V = S::template elements<T>;
  const tile::block<S::threads, Warp> block;
  for (std::int64_t row = blockIdx.x; row < p.m; row += gridDim.x)
    for (std::int64_t slice = blockIdx.y; slice < slices; slice += gridDim.y) {
      const T* const rows[1] = {p.a + row * p.row_stride};
      Sum<T> sums[1] = {};
      const std::int64_t begin = slice * slice_elements;
      multiply_rows<V, S::vectors>(rows, p.x, begin, ::min(begin + slice_elements, p.k), block.rank(), S::threads,
                                   sums);
      const Sum<T> sum = block.reduce(sums[0], Add<Sum<T>>());
      if (block.rank() > 0) continue;
      if (slices == 1) epilogue(row, sum);
      else partials[slice * p.m + row] = sum;
    }
}

// y = epilogue(A x), a thread per row                A: [m, k], any strides  x: [k]  y: [m]
template <class S, class T>
__global__ void __launch_bounds__(S::threads) gemv_naive(Product<T> p, Epilogue<T> epilogue) {
  for (std::int64_t row = std::int64_t{blockIdx.x} * S::threads + threadIdx.x; row < p.m;
       row += std::int64_t{gridDim.x} * S::threads) {
    Sum<T> sum = 0;
    for (std::int64_t k = 0; k < p.k; ++k)
      sum += static_cast<Sum<T>>(p.a[row * p.row_stride + k * p.k_stride]) * static_cast<Sum<T>>(p.x[k * p.x_stride]);
    epilogue(row, sum);
  }
}

}  // namespace ridge::gemv_detail
