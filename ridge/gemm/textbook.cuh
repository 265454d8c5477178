// The textbook's steps on the way to thread_tile.cuh: a thread per element of D, with operands of any strides.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/raster.hpp>
#include <ridge/gemm/textbook.hpp>

namespace ridge::gemm_kernels {

// epilogue(A B), or epilogue(A B, A G)               a: [m, k]  b, gate: [n, k]
// Each use of an operand element reads it from global memory (the caches help).
// Precondition: gridDim.x is the number of tiles.
template <class Policy, class T, class Epilogue>
__global__ void __launch_bounds__(textbook_threads(Policy::config))
    gemm_naive(Operand<T> a, OperandB<Policy, T> b, Shape shape, Epilogue epilogue) {
  constexpr Config c = Policy::config;
  const TileAt place = raster_of(shape.m, shape.n, c.bm, c.bn).at(blockIdx.x);
  const std::int64_t row = place.row * c.bm + simt::thread_rank() / c.bn,
                     col = place.col * c.bn + simt::thread_rank() % c.bn;
  if (row >= shape.m || col >= shape.n) return;
  for (std::int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
    const T* x = a.data + batch * a.batch_stride + row * a.outer_stride;
    const auto product = [&](const Operand<T>& by) {
      const T* y = by.data + batch * by.batch_stride + col * by.outer_stride;
      Sum<T, c.two_float> sum{};
      for (std::int64_t k = 0; k < shape.k; ++k) sum = multiply_add_one(x[k * a.k_stride], y[k * by.k_stride], sum);
      return simt::vec<Accumulator<T>, 1>{accumulated(sum)};
    };
    if constexpr (c.gated) epilogue(product(b.b), product(b.gate), At{batch, row, col, 1});
    else epilogue(product(b), At{batch, row, col, 1});
  }
}

// The same; a block reads bm x bk of A and bk x bn of B into shared memory, where each element is used bn or bm times.
// Preconditions: as above; bm == bn == bk, so that a thread reads one element of each.
template <class Policy, class T, class Epilogue>
__global__ void __launch_bounds__(textbook_threads(Policy::config))
    gemm_shared(Operand<T> a, Operand<T> b, Shape shape, Epilogue epilogue) {
  constexpr Config c = Policy::config;
  static_assert(c.bm == c.bn && c.bn == c.bk, "one element of each operand per thread and step");
  constexpr int pitch = c.bk + shared_padding;  // padding: threads that read a column of A use different banks
  using S = Accumulator<T>;
  S* tile_a = simt::dynamic_shared<S>();  // [bm][pitch], [m][k]
  S* tile_b = tile_a + c.bm * pitch;      // [bk][pitch], [k][n]
  static_assert((c.bm + c.bk) * pitch * sizeof(S) == shared_smem_bytes(c, dtype_of<T>));

  const TileAt place = raster_of(shape.m, shape.n, c.bm, c.bn).at(blockIdx.x);
  const int y = simt::thread_rank() / c.bn, x = simt::thread_rank() % c.bn;
  const std::int64_t row = place.row * c.bm + y, col = place.col * c.bn + x;
  for (std::int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
    const T* from_a = a.data + batch * a.batch_stride + row * a.outer_stride;
    const T* from_b = b.data + batch * b.batch_stride + col * b.outer_stride;
    simt::vec<S, 1> sum{};
    for (std::int64_t k = 0; k < shape.k; k += c.bk) {
      tile_a[y * pitch + x] = row < shape.m && k + x < shape.k ? static_cast<S>(from_a[(k + x) * a.k_stride]) : S(0);
      tile_b[y * pitch + x] = col < shape.n && k + y < shape.k ? static_cast<S>(from_b[(k + y) * b.k_stride]) : S(0);
      __syncthreads();
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < c.bk; ++i) sum[0] = added(sum[0], tile_a[y * pitch + i] * tile_b[i * pitch + x]);
      __syncthreads();
    }
    if (row < shape.m && col < shape.n) epilogue(sum, At{batch, row, col, 1});
  }
}

}  // namespace ridge::gemm_kernels
