// GEMM by the WMMA interface of CUDA C++: tensor cores without knowing which lane holds what. A step of the ladder,
// between multiply-adds and mma.sync (sm80_mma.cuh): one buffer, and no wait is hidden.
#pragma once
#include <ridge/gemm/element.cuh>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/grid.cuh>
#include <ridge/gemm/sm80_wmma.hpp>
#include <ridge/tile/sm80/arch.cuh>

#include <mma.h>

namespace ridge::gemm_kernels {

// WMMA's names of the types.
template <class T> using WmmaType = std::conditional_t<std::is_same_v<T, half>, __half, __nv_bfloat16>;

// Copies 16 bytes of an operand's row to shared memory; zeros past `count` elements.
template <class T> __device__ __forceinline__ void put_vector(T* to, const T* from, std::int64_t count) {
  constexpr int width = access_bytes / static_cast<int>(sizeof(T));
  simt::vec<T, width> vector;
  if (count >= width) {
    vector = simt::load<width>(from);
  } else {
#pragma unroll
    for (int v = 0; v < width; ++v) vector[v] = v < count ? from[v] : T{};
  }
  simt::store(to, vector);
}

// epilogue(A B)                                      a: [m, k], along k  b: [n, k], along n
// Preconditions: cc 80 or later; k < 2^31 - bk; gridDim.x is the number of tiles; every row of a and b is 16-byte
// aligned.
template <class Policy, class T, class Epilogue>
__global__ void __launch_bounds__(wmma_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_wmma(Operand<T> a, Operand<T> b, Shape shape, Epilogue epilogue) {
  if constexpr (tile::sm80::available) {
    namespace wmma = nvcuda::wmma;
    constexpr Config c = Policy::config;
    constexpr int edge = wmma_edge, pitch_a = wmma_pitch(c.bk), pitch_b = wmma_pitch(c.bn), M = c.wm / edge,
                  N = c.wn / edge, width = access_bytes / static_cast<int>(sizeof(T));
    static_assert(c.bk == edge && c.bm * c.bk == wmma_threads(c) * width && c.bk * c.bn == wmma_threads(c) * width,
                  "16 bytes of either operand for each thread and step");
    using U = WmmaType<T>;
    T* tile_a = simt::dynamic_shared<T>();  // [bm][pitch_a], [m][k]
    T* tile_b = tile_a + c.bm * pitch_a;    // [bk][pitch_b], [k][n]

    const int rank = simt::thread_rank(), warp = rank / 32, lane = rank % 32;
    const int warp_row = warp / (c.bn / c.wn) * c.wm, warp_col = warp % (c.bn / c.wn) * c.wn;
    const TileAt place = raster_of(shape.m, shape.n, c.bm, c.bn).at(blockIdx.x);
    const int row_a = rank / (c.bk / width), k_a = rank % (c.bk / width) * width;
    const int k_b = rank / (c.bn / width), col_b = rank % (c.bn / width) * width;
    const std::int64_t row = place.row * c.bm + row_a, col = place.col * c.bn + col_b;

    for (std::int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
      const T* from_a = a.data + batch * a.batch_stride + row * a.outer_stride;
      const T* from_b = b.data + batch * b.batch_stride + col;
      wmma::fragment<wmma::accumulator, edge, edge, edge, float> sums[M][N];
#pragma unroll
      for (int i = 0; i < M; ++i)
#pragma unroll
        for (int j = 0; j < N; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
      for (std::int64_t k = 0; k < shape.k; k += c.bk) {
        put_vector(tile_a + row_a * pitch_a + k_a, from_a + k + k_a, row < shape.m ? shape.k - k - k_a : 0);
        put_vector(tile_b + k_b * pitch_b + col_b, from_b + (k + k_b) * b.k_stride,
                   k + k_b < shape.k ? shape.n - col : 0);
        __syncthreads();
        wmma::fragment<wmma::matrix_a, edge, edge, edge, U, wmma::row_major> x[M];
        wmma::fragment<wmma::matrix_b, edge, edge, edge, U, wmma::row_major> y[N];
#pragma unroll
        for (int i = 0; i < M; ++i)
          wmma::load_matrix_sync(x[i], reinterpret_cast<const U*>(tile_a + (warp_row + i * edge) * pitch_a), pitch_a);
#pragma unroll
        for (int j = 0; j < N; ++j)
          wmma::load_matrix_sync(y[j], reinterpret_cast<const U*>(tile_b + warp_col + j * edge), pitch_b);
#pragma unroll
        for (int i = 0; i < M; ++i)
#pragma unroll
          for (int j = 0; j < N; ++j) wmma::mma_sync(sums[i][j], x[i], y[j], sums[i][j]);
        __syncthreads();
      }
      // Each warp's fragments pass through part of the tiles' memory, since WMMA does not specify what a lane holds.
      float* mine = reinterpret_cast<float*>(tile_a) + warp * edge * edge;
      RIDGE_KEEP_LOOP
      for (int part = 0; part < M * N; ++part) {
        __syncwarp();
#pragma unroll
        for (int i = 0; i < M * N; ++i)  // registers cannot be indexed: each is tried, and the code exists once
          if (i == part) wmma::store_matrix_sync(mine, sums[i / N][i % N], edge, wmma::mem_row_major);
        __syncwarp();
        RIDGE_KEEP_LOOP
        for (int u = lane; u < edge * edge / 4; u += 32) {
          const int r = u / (edge / 4), f = u % (edge / 4) * 4;
          const std::int64_t d_row = place.row * c.bm + warp_row + part / N * edge + r,
                             d_col = place.col * c.bn + warp_col + part % N * edge + f, left = shape.n - d_col;
          if (d_row < shape.m && left > 0)
            epilogue(simt::load<4>(static_cast<const float*>(mine) + r * edge + f),
                     At{batch, d_row, d_col, static_cast<int>(::min(left, std::int64_t{4}))});
        }
      }
      __syncthreads();
    }
  }
}

}  // namespace ridge::gemm_kernels
