// Small kernels whose traffic is known, written once: a GPU counts them, the CPU runtime traces them.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::trace_validation {

using simt::vec;

// ---- global memory -----------------------------------------------------------------------------------------------

// y[t] = x[t * stride]                              x: [stride * threads]  y: [threads]
__global__ void copy_strided(const float* x, float* y, int stride) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  y[t] = x[t * stride];
}

// y = x, N elements per thread                      x: [N * threads]  y: [N * threads]
template <int N, class T> __global__ void copy_vec(const T* x, T* y) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  simt::store(y + N * t, simt::load<N>(x + N * t));
}

// Lanes in groups of `lanes` read the same 16 bytes.
__global__ void read_together(const float* x, float* y, int lanes) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  simt::store(y + 4 * t, simt::load<4>(x + 4 * (t / lanes)));
}

// Half of the lanes, in an order that alternates.
__global__ void copy_odd(const float* x, float* y, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = t; i < n; i += gridDim.x * blockDim.x)
    if ((i ^ i >> 5) & 1) y[i] = x[i];
}

// Inner loops of different lengths.
__global__ void ragged(const float* x, float* y, int n) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < t % 4; ++j) sum += x[(i * 4 + j) * 1024 + t];
    y[i * 1024 + t] = sum;
  }
}

__global__ void add_apart(float* y, int stride) { atomicAdd(y + threadIdx.x * stride, 1.0f); }

// ---- shared memory -----------------------------------------------------------------------------------------------

// Each thread reads s[t * stride].                  y: [threads]
__global__ void read_banks(float* y, int stride) {
  __shared__ float s[33 * 32];
  for (int i = threadIdx.x; i < 33 * 32; i += 32) s[i] = static_cast<float>(i);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x * stride];
}

// Vectors of shared memory, in groups of `together` lanes that read the same one, `stride` vectors apart.
template <int N> __global__ void read_vectors(float* y, int together, int stride) {
  float* s = simt::dynamic_shared<float>();  // [32 * stride][N]
  for (int i = threadIdx.x; i < 32 * stride * N; i += 32) s[i] = static_cast<float>(i);
  __syncthreads();
  simt::store(y + N * threadIdx.x, simt::load<N>(s + N * (threadIdx.x / together * stride)));
}

template <int N> __global__ void write_vectors(float* y, int stride) {
  float* s = simt::dynamic_shared<float>();  // [32 * stride][N]
  vec<float, N> v;
  RIDGE_UNROLL
  for (int i = 0; i < N; ++i) v[i] = y[threadIdx.x + i];
  simt::store(s + N * (threadIdx.x * stride), v);
  __syncthreads();
  y[threadIdx.x] = s[N * (31 - threadIdx.x) * stride];
}

// Each lane adds to one of `counters` counters.     y: [32]
__global__ void count_shared(int* y, int counters) {
  __shared__ int counts[32];
  counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(counts + threadIdx.x % counters, y[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = counts[threadIdx.x];
}

// ---- textbook kernels --------------------------------------------------------------------------------------------

// out = in^T, without shared memory                 in: [n, n]  out: [n, n]
__global__ void transpose_naive(const float* in, float* out, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) {
    const int y = blockIdx.y * 32 + j;
    out[x * n + y] = in[y * n + x];
  }
}

// The same through a tile; Pad = 1 keeps its columns in different banks.
template <int Pad> __global__ void transpose_tile(const float* in, float* out, int n) {
  __shared__ float tile[32][32 + Pad];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) tile[j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  const int ox = y + threadIdx.x, oy = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) out[(oy + j) * n + ox] = tile[threadIdx.x][j];
}

// The same by 16-byte accesses of global memory.    block: (8, 32)
__global__ void transpose_vec4(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  const int x = blockIdx.x * 32, y = blockIdx.y * 32, c = threadIdx.x * 4, r = threadIdx.y;
  const auto row = simt::load<4>(in + (y + r) * n + x + c);
  RIDGE_UNROLL
  for (int i = 0; i < 4; ++i) tile[c + i][r] = row[i];
  __syncthreads();
  vec<float, 4> column;
  RIDGE_UNROLL
  for (int i = 0; i < 4; ++i) column[i] = tile[r][c + i];
  simt::store(out + (x + r) * n + y + c, column);
}

// c = a b, one element per thread                   a, b, c: [n, n]  block: (B, B)
template <int B> __global__ void sgemm_tile(const float* a, const float* b, float* c, int n) {
  __shared__ float as[B][B], bs[B][B];
  const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * B + ty, col = blockIdx.x * B + tx;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += B) {
    as[ty][tx] = a[row * n + k0 + tx];
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < B; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}

// The same, RM x RN elements per thread             a, b, c: [n, n]  block: BM / RM * BN / RN
template <int BM, int BN, int BK, int RM, int RN>
__global__ void __launch_bounds__(BM / RM * BN / RN) sgemm_registers(const float* a, const float* b, float* c, int n) {
  constexpr int Threads = BM / RM * BN / RN;
  float* as = simt::dynamic_shared<float>();  // [BK][BM], a transposed
  float* bs = as + BK * BM;                   // [BK][BN]
  const int t = threadIdx.x, tx = t % (BN / RN) * RN, ty = t / (BN / RN) * RM;
  a += blockIdx.y * BM * n;
  b += blockIdx.x * BN;
  float sums[RM][RN] = {};
  for (int k0 = 0; k0 < n; k0 += BK) {
    for (int i = t * 4; i < BM * BK; i += Threads * 4) {
      const auto x = simt::load<4>(a + i / BK * n + k0 + i % BK);
#pragma unroll
      for (int k = 0; k < 4; ++k) as[(i % BK + k) * BM + i / BK] = x[k];
    }
    for (int i = t * 4; i < BK * BN; i += Threads * 4)
      simt::store(bs + i, simt::load<4>(b + (k0 + i / BN) * n + i % BN));
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const auto x = simt::load<RM>(as + k * BM + ty);
      const auto y = simt::load<RN>(bs + k * BN + tx);
#pragma unroll
      for (int i = 0; i < RM; ++i)
#pragma unroll
        for (int j = 0; j < RN; ++j) sums[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < RM; ++i) {
    vec<float, RN> out;
#pragma unroll
    for (int j = 0; j < RN; ++j) out[j] = sums[i][j];
    simt::store(c + (blockIdx.y * BM + ty + i) * n + blockIdx.x * BN + tx, out);
  }
}

// One sum of x by one atomic per block              x: [threads]  sum: [1]
template <int Threads> __global__ void block_sum(const float* x, float* sum) {
  constexpr int Warp = simt::native_warp;
  __shared__ float partial[Threads / Warp];
  const simt::tile<Warp> warp;
  const auto add = [](float a, float b) { return a + b; };
  float mine = warp.reduce(x[blockIdx.x * Threads + threadIdx.x], add);
  if (warp.rank() == 0) partial[warp.index()] = mine;
  __syncthreads();
  if (warp.index() == 0) {
    mine = warp.reduce(warp.rank() < Threads / Warp ? partial[warp.rank()] : 0.0f, add);
    if (warp.rank() == 0) atomicAdd(sum, mine);
  }
}

}  // namespace ridge::trace_validation
