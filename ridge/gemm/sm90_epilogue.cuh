// From the sums of wgmma in registers to D. Each warp does its own 16 rows, through 4 KB of shared memory of its own:
// no warp waits for another.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/epilogue.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::gemm_kernels {

// What D becomes where no element of it needs more than its sum and its column's bias, and D has the operands' type:
// scale * act(alpha * sum + bias). It is computed where the sums are, and stored by TMA.
struct ColumnEpilogue {
  float alpha = 1, scale = 1;
  Activation activation = Activation::none;
  Tensor bias;
};

// The 16 rows of a warp, of 32 neighbouring columns, by a thread: x[4 j + i] as in wgmma.cuh.
using Sums = float[32];  // of 64 columns

// sums[first..first + 31], where first is known only when it runs: registers have no index, so each place is tried.
template <int N> __device__ __forceinline__ void take(const float (&sums)[N], int part, Sums& x) {
#pragma unroll
  for (int p = 0; p < N / 32; ++p) {
    if (p != part) continue;
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = sums[p * 32 + i];
  }
}

template <class T> __device__ __forceinline__ unsigned packed_pair(float low, float high) {
  unsigned pair;
  if constexpr (std::is_same_v<T, half>) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

template <class T> __device__ __forceinline__ void activate_sums(Activation activation, Sums& x) {
  if (activation == Activation::none) return;
  if (activation == Activation::relu) {
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = tile::relu(x[i]);
    return;
  }
  RIDGE_KEEP_LOOP
  for (int turn = 0; turn < 4; ++turn) {  // eight at a time at places 0 to 7, so that the code is there once
    float y[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) y[i] = tile::activate<float>(activation, x[i]);
#pragma unroll
    for (int i = 0; i < 24; ++i) x[i] = x[i + 8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[24 + i] = y[i];
  }
}

// D's rows from `row` on and columns from `col` on; sums of this warp's 16 rows and N columns. `staging` is 2 buffers
// of 16 lines of 128 bytes; bias: of the N columns. Leaves stores under way that read it.
template <class T, int N>
__device__ __forceinline__ void store_columns(const float (&sums)[N / 2], const ColumnEpilogue& e, const float* bias,
                                              unsigned char* staging, const CUtensorMap* map_d, int row, int col,
                                              int batch) {
  namespace sm90 = tile::sm90;
  const unsigned lane = threadIdx.x % 32;
  const unsigned line = lane % 16, piece = lane / 16;  // of stmatrix: two matrices below each other, then two beside
  // The parts take turns at two buffers, or with an odd number of them meet the former one's.
  constexpr int under_way = N / 64 % 2 ? 0 : 1;
  RIDGE_KEEP_LOOP
  for (int part = 0; part < N / 64; ++part) {
    Sums x;
    take(sums, part, x);
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const auto b = simt::load<2>(bias + part * 64 + j * 8 + lane % 4 * 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) x[4 * j + i] = e.alpha * x[4 * j + i] + b[i % 2];
    }
    activate_sums<T>(e.activation, x);
    unsigned char* buffer = staging + part % 2 * 2048;
    if (lane == 0) sm90::wait_stores_read<under_way>();
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
      const float s = e.scale;
      const float* y = x + 4 * j;
      sm90::store_matrices(sm90::shared_address(buffer + sm90::swizzled(line, (j + piece) * 16)),
                           packed_pair<T>(s * y[0], s * y[1]), packed_pair<T>(s * y[2], s * y[3]),
                           packed_pair<T>(s * y[4], s * y[5]), packed_pair<T>(s * y[6], s * y[7]));
    }
    sm90::fence_shared_for_copies();
    __syncwarp();
    if (lane == 0) {
      sm90::store(map_d, buffer, col + part * 64, row, batch);
      sm90::commit_stores();
    }
  }
}

// The same by an epilogue of any kind, which stores by itself: sums pass through shared memory to become rows of four
// neighbours, and the epilogue's code is there once.
template <int N, class Epilogue>
__device__ __forceinline__ void store_by_epilogue(const float (&sums)[N / 2], const Epilogue& epilogue,
                                                  unsigned char* staging, std::int64_t rows, std::int64_t cols, int row,
                                                  int col, int batch) {
  constexpr int pitch = 40, columns = 32;  // floats; 8 banks from row to row
  float* buffer = reinterpret_cast<float*>(staging);
  const int lane = threadIdx.x % 32;
  RIDGE_KEEP_LOOP
  for (int part = 0; part < N / 64; ++part) {
    Sums x;
    take(sums, part, x);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      __syncwarp();
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 2; ++i)
          simt::store(buffer + (lane / 4 + 8 * i) * pitch + j * 8 + lane % 4 * 2,
                      simt::vec<float, 2>{x[16 * h + 4 * j + 2 * i], x[16 * h + 4 * j + 2 * i + 1]});
      __syncwarp();
      RIDGE_KEEP_LOOP
      for (int i = 0; i < 4; ++i) {
        const int r = i * 4 + lane / 8, c = lane % 8 * 4;
        const std::int64_t at_row = row + r, at_col = col + part * 64 + h * columns + c;
        const std::int64_t left = cols - at_col;
        if (at_row < rows && left > 0)
          epilogue(simt::load<4>(static_cast<const float*>(buffer) + r * pitch + c),
                   At{batch, at_row, at_col, static_cast<int>(::min(left, std::int64_t{4}))});
      }
    }
  }
}

}  // namespace ridge::gemm_kernels
