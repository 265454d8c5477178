// Products as sums of outer products, for tiles of float32 in shared memory: a thread reads 4 or 8 neighbours of both
// operands by 16-byte accesses, and multiplies all pairs.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/tile/async_copy.cuh>

namespace ridge::attention_kernels {

// Reads N floats in fragments that are `Step` apart.
template <int N, int Step> __device__ __forceinline__ void read_fragments(const float* from, float (&to)[N]) {
  RIDGE_UNROLL_ON_GPU
  for (int f = 0; f < N; f += fragment) {
    const auto values = simt::load<fragment>(from + f / fragment * Step);
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < fragment; ++e) to[f + e] = values[e];
  }
}

// sums[i][j] += a[k][i] b[k][j] over k < steps.     a: [steps][pitch_a]  b: [steps][pitch_b], from this thread's first
// on
// With SkipNone, an a that is masked_p is not multiplied. Precondition: steps is a multiple of 4.
template <bool SkipNone, int StepA, int StepB, int M, int N>
__device__ __forceinline__ void add_products(const float* a, int pitch_a, const float* b, int pitch_b, int steps,
                                             float (&sums)[M][N]) {
  constexpr int unrolled = 4;  // double buffering: the next fragments are read while these are multiplied
  float x[2][M], y[2][N];
  if (steps == 0) return;
  read_fragments<M, StepA>(a, x[0]);
  read_fragments<N, StepB>(b, y[0]);
  RIDGE_KEEP_LOOP
  for (int first = 0; first < steps; first += unrolled) {
    RIDGE_UNROLL_ON_GPU
    for (int s = 0; s < unrolled; ++s) {
      const int now = s % 2, next = 1 - now, k = first + s + 1;
      if (s + 1 < unrolled || k < steps) {
        read_fragments<M, StepA>(a + k * pitch_a, x[next]);
        read_fragments<N, StepB>(b + k * pitch_b, y[next]);
      }
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < M; ++i) {
        if (SkipNone && is_masked_p(x[now][i])) continue;
        RIDGE_UNROLL_ON_GPU
        for (int j = 0; j < N; ++j) sums[i][j] = fmaf(x[now][i], y[now][j], sums[i][j]);
      }
    }
  }
}

// Starts to copy rows to [Rows][Pitch]; elements past `rows` and `width` become 0.
template <int Rows, int Width, int Threads, int Pitch = Width>
__device__ __forceinline__ void start_rows(float* to, const float* from, const Strides& s, int rows, int width,
                                           bool vectors) {
  const int rank = simt::thread_rank();
  if (vectors) {
    constexpr int row_vectors = Width / fragment;
    for (int n = rank; n < Rows * row_vectors; n += Threads) {
      const int row = n / row_vectors, column = n % row_vectors * fragment;
      const int valid = row < rows ? ::max(0, ::min(fragment, width - column)) * 4 : 0;
      tile::copy_async<16>(to + row * Pitch + column, valid > 0 ? from + row * s.row + column : from, valid);
    }
  } else {
    for (int n = rank; n < Rows * Width; n += Threads) {
      const int row = n / Width, column = n % Width;
      const bool valid = row < rows && column < width;
      tile::copy_async<4>(to + row * Pitch + column, valid ? from + row * s.row + column * s.element : from,
                          valid ? 4 : 0);
    }
  }
}

}  // namespace ridge::attention_kernels
