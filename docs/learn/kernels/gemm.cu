// The first steps of ridge/gemm by themselves: ridge lab docs/learn/kernels/gemm.cu --trace
#include <ridge/gemm/textbook.cuh>
#include <ridge/gemm/thread_tile.cuh>
#include <ridge/gemm/variants.hpp>

#include "row.hpp"

using namespace ridge::gemm_kernels;
using ridge::gemm_detail::variants;

// An epilogue that stores the sums.
struct Store {
  float* d;
  std::int64_t pitch;
  template <int N> __device__ void operator()(const ridge::simt::vec<float, N>& sums, At at) const {
    for (int i = 0; i < at.count; ++i) d[at.row * pitch + at.col + i] = sums[i];
  }
};

int main() {
  constexpr int n = 128;
  constexpr Major none = Major::none, k = Major::k, outer = Major::outer;
  const Memory<float> a(n * n), b(n * n), d(n * n);
  const Operand<float> x{a.data, n, 1, 0}, y{b.data, 1, n, 0};  // rows of A, columns of B
  const Shape shape{n, n, n, 1};
  const Store store{d.data, n};
  gemm_naive<Row<variants, "naive">><<<64, 256>>>(x, y, shape, store);
  gemm_shared<Row<variants, "block_32">><<<16, 1024, 8448>>>(x, y, shape, store);
  gemm_thread_tile<Row<variants, "thread_8x8">, float, none, none><<<1, 256, 33792>>>(x, y, shape, store);
  gemm_thread_tile<Row<variants, "vec4">, float, k, outer><<<1, 256, 33792>>>(x, y, shape, store);
  gemm_thread_tile<Row<variants, "conflict_free">, float, k, outer><<<1, 256, 33792>>>(x, y, shape, store);
  gemm_thread_tile<Row<variants, "double_buffer">, float, k, outer><<<1, 256, 33792>>>(x, y, shape, store);
  cudaDeviceSynchronize();
}
