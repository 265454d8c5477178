// Complete kernels like those of operators, compared with plain loops: they must be right in every mode, at both warp
// widths, with any number of workers and in any order.
#include <ridge/simt/test/support.hpp>

#include <random>
#include <vector>

namespace simt_test {
namespace {

std::vector<float> noise(std::size_t n) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(n);
  for (float& x : v) x = uniform(generator);
  return v;
}

template <class T> std::vector<T> as(const std::vector<float>& v) {
  std::vector<T> result(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) result[i] = T(v[i]);
  return result;
}

// ---- sum: warp shuffles, one partial per warp, one atomic per block ----------------------------------------------
template <class T, int Threads, int Warp>
__global__ void __launch_bounds__(Threads) block_sum(const T* __restrict__ x, float* out, int n) {
  __shared__ float partial[Threads / Warp];
  const tile<Warp> warp;
  const auto add = [](float a, float b) { return a + b; };

  float sum = 0;
  for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads) sum += float(x[i]);
  sum = warp.reduce(sum, add);
  if (warp.rank() == 0) partial[warp.index()] = sum;
  __syncthreads();

  if (warp.index() == 0) {
    sum = warp.rank() < Threads / Warp ? partial[warp.rank()] : 0.0f;
    sum = warp.reduce(sum, add);
    if (warp.rank() == 0) atomicAdd(out, sum);
  }
}

template <class T> void check_sum() {
  constexpr int n = 10000;
  const auto x = as<T>(noise(n));
  double expected = 0;
  for (T v : x) expected += float(v);
  for (int warp : {32, 64}) {
    float sum = 0;
    const Config config{.grid = dim3(13), .block = dim3(128), .warp = warp};
    ASSERT_RUNS(simt::with_warp(warp, [&](auto width) {
      return launch(config, block_sum<T, 128, decltype(width)::value>, x.data(), &sum, n);
    }));
    EXPECT_NEAR(sum, expected, 1e-2);
  }
}

TEST(SimtKernels, BlockSum) {
  check_sum<float>();
  check_sum<half>();
  check_sum<bfloat16>();
}

// ---- online softmax: one block per row, vector loads, a running (maximum, sum) -----------------------------------
struct Running {
  float max, sum;
};
__device__ __forceinline__ Running merge(Running a, Running b) {
  const float m = fmaxf(a.max, b.max);
  return {m, a.sum * __expf(a.max - m) + b.sum * __expf(b.max - m)};
}

template <class T, int Threads, int Warp>
__global__ void __launch_bounds__(Threads) softmax(const T* __restrict__ in, T* __restrict__ out, int cols) {
  constexpr int V = 16 / sizeof(T);
  __shared__ Running partial[Threads / Warp];
  const tile<Warp> warp;
  in += std::size_t(blockIdx.x) * cols;
  out += std::size_t(blockIdx.x) * cols;

  Running r{-3.0e38f, 0};
  for (int i = threadIdx.x * V; i < cols; i += Threads * V) {
    const auto x = simt::load<V>(in + i);
    float m = r.max;
    RIDGE_UNROLL
    for (int k = 0; k < V; ++k) m = fmaxf(m, float(x[k]));
    float s = r.sum * __expf(r.max - m);
    RIDGE_UNROLL
    for (int k = 0; k < V; ++k) s += __expf(float(x[k]) - m);
    r = {m, s};
  }
  r = warp.reduce(r, merge);
  if (warp.rank() == 0) partial[warp.index()] = r;
  __syncthreads();
  r = partial[0];
  for (int w = 1; w < Threads / Warp; ++w) r = merge(r, partial[w]);

  const float scale = 1.0f / r.sum;
  for (int i = threadIdx.x * V; i < cols; i += Threads * V) {
    auto x = simt::load<V>(in + i);
    RIDGE_UNROLL
    for (int k = 0; k < V; ++k) x[k] = T(__expf(float(x[k]) - r.max) * scale);
    simt::store(out + i, x);
  }
}

template <class T> void check_softmax(double relative) {
  constexpr int rows = 5, cols = 1024;
  const auto x = as<T>(noise(rows * cols));
  std::vector<T> y(x.size());
  for (int warp : {32, 64}) {
    const Config config{.grid = dim3(rows), .block = dim3(128), .warp = warp};
    ASSERT_RUNS(simt::with_warp(warp, [&](auto width) {
      return launch(config, softmax<T, 128, decltype(width)::value>, x.data(), y.data(), cols);
    }));
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int c = 0; c < cols; ++c) sum += std::exp(double(float(x[r * cols + c])));
      for (int c = 0; c < cols; ++c) {
        const double expected = std::exp(double(float(x[r * cols + c]))) / sum;
        ASSERT_NEAR(float(y[r * cols + c]), expected, relative * expected);
      }
    }
  }
}

TEST(SimtKernels, Softmax) {
  check_softmax<float>(1e-5);
  check_softmax<half>(2e-3);
  check_softmax<bfloat16>(1e-2);
}

// ---- matrix product: a tile of outputs per thread, operands through dynamic shared memory ------------------------
template <int BM, int BN, int BK, int RM, int RN>
__global__ void __launch_bounds__(BM / RM * BN / RN)
    sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  constexpr int Threads = BM / RM * BN / RN;
  float* as = simt::dynamic_shared<float>();  // [BK][BM], a transposed
  float* bs = as + BK * BM;                   // [BK][BN]
  const int t = threadIdx.x, tx = t % (BN / RN) * RN, ty = t / (BN / RN) * RM;
  a += std::size_t(blockIdx.y) * BM * n;
  b += std::size_t(blockIdx.x) * BN;

  float acc[RM][RN] = {};
  for (int k0 = 0; k0 < n; k0 += BK) {
    for (int i = t * 4; i < BM * BK; i += Threads * 4) {
      const auto x = simt::load<4>(a + std::size_t(i / BK) * n + k0 + i % BK);
      RIDGE_UNROLL
      for (int k = 0; k < 4; ++k) as[(i % BK + k) * BM + i / BK] = x[k];
    }
    for (int i = t * 4; i < BK * BN; i += Threads * 4)
      simt::store(bs + i, simt::load<4>(b + std::size_t(k0 + i / BN) * n + i % BN));
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const auto x = simt::load<RM>(as + k * BM + ty);
      const auto y = simt::load<RN>(bs + k * BN + tx);
      RIDGE_UNROLL
      for (int i = 0; i < RM; ++i) RIDGE_UNROLL
      for (int j = 0; j < RN; ++j) acc[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < RM; ++i) {
    simt::vec<float, RN> out;
    for (int j = 0; j < RN; ++j) out[j] = acc[i][j];
    simt::store(c + std::size_t(blockIdx.y * BM + ty + i) * n + blockIdx.x * BN + tx, out);
  }
}

TEST(SimtKernels, MatrixProduct) {
  constexpr int n = 64;
  const auto a = noise(n * n), b = noise(n * n);
  std::vector<float> c(n * n);
  alignas(16) static float aligned[3][n * n];
  std::copy(a.begin(), a.end(), aligned[0]);
  std::copy(b.begin(), b.end(), aligned[1]);
  const Config config{.grid = dim3(2, 2), .block = dim3(64), .smem = (32 + 32) * 16 * sizeof(float)};
  ASSERT_RUNS(launch(config, sgemm<32, 32, 16, 4, 4>, aligned[0], aligned[1], aligned[2], n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double expected = 0;
      for (int k = 0; k < n; ++k) expected += double(a[i * n + k]) * b[k * n + j];
      ASSERT_NEAR(aligned[2][i * n + j], expected, 1e-4);
    }
  }
}

// ---- transpose through a padded tile -----------------------------------------------------------------------------
template <class T> __global__ void transpose(const T* __restrict__ in, T* __restrict__ out, int rows, int cols) {
  __shared__ T block[32][33];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (x < cols && y + j < rows) block[j][threadIdx.x] = in[std::size_t(y + j) * cols + x];
  __syncthreads();
  const int ox = y + threadIdx.x, oy = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y)
    if (ox < rows && oy + j < cols) out[std::size_t(oy + j) * rows + ox] = block[threadIdx.x][j];
}

TEST(SimtKernels, Transpose) {
  constexpr int rows = 45, cols = 97;
  std::vector<int> in(rows * cols), out(rows * cols, -1);
  for (int i = 0; i < rows * cols; ++i) in[i] = i;
  ASSERT_RUNS(launch({dim3(4, 2), dim3(32, 4)}, transpose<int>, in.data(), out.data(), rows, cols));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) ASSERT_EQ(out[j * rows + i], in[i * cols + j]);
}

// ---- all of them, in other orders --------------------------------------------------------------------------------
TEST(SimtKernels, AnyScheduleGivesTheSame) {
  for (const char* seed : {"1", "2", "31415"}) {
    const Setting order("RIDGE_SEED", seed);
    check_sum<float>();
    check_softmax<half>(2e-3);
  }
  for (const char* workers : {"1", "2", "5"}) {
    const Setting count("RIDGE_WORKERS", workers);
    check_sum<float>();
    check_softmax<float>(1e-5);
  }
}

// A block with the most threads that a device allows.
TEST(SimtKernels, TheLargestBlock) {
  if (race) GTEST_SKIP() << "ThreadSanitizer takes 2 MB per thread";
  std::vector<float> x(5000, 1.0f);
  for (int warp : {32, 64}) {
    float sum = 0;
    ASSERT_RUNS(simt::with_warp(warp, [&](auto width) {
      return launch({dim3(2), dim3(1024), 0, nullptr, warp}, block_sum<float, 1024, decltype(width)::value>, x.data(),
                    &sum, 5000);
    }));
    EXPECT_EQ(sum, 5000.0f);
  }
}

}  // namespace
}  // namespace simt_test
