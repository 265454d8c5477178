// Counts of requests, sectors and wavefronts, for kernels with known figures.
#include <ridge/simt/test/trace/traced.hpp>

#include <ctime>

namespace simt_test {
namespace {

// ---- global memory -----------------------------------------------------------------------------------------------

__global__ void copy_strided(const float* x, float* y, int stride) { y[threadIdx.x] = x[threadIdx.x * stride]; }

TEST(Trace, StridedCopy) {
  const Aligned<float> x(32 * 33), y(32);
  const int expected[][2] = {{1, 4}, {2, 8}, {8, 32}, {33, 32}};
  for (const auto [stride, sectors] : expected) {
    const auto launch = traced(one_block(32), copy_strided, x, y, stride);
    EXPECT_EQ(global_loads(launch), (Cost{1, double(sectors)})) << stride;
    EXPECT_EQ(global_stores(launch), (Cost{1, 4})) << stride;
    EXPECT_EQ(launch.coalesced(), stride == 1);
  }
}

__global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

TEST(Trace, MisalignedCopyTouchesASectorMore) {
  const Aligned<float> x(257), y(257);
  const auto launch = traced({.grid = dim3(2), .block = dim3(128)}, copy, x + 1, y + 0, 256);
  EXPECT_EQ(global_loads(launch), (Cost{8, 5}));
  EXPECT_EQ(global_stores(launch), (Cost{8, 4}));
  EXPECT_FALSE(launch.coalesced());
  EXPECT_EQ(launch.accesses[0].note(32), "misaligned");
}

TEST(Trace, AWarpOf64IsOneRequest) {
  const Aligned<float> x(256), y(256);
  const auto launch = traced({.grid = dim3(2), .block = dim3(128), .warp = 64}, copy, x, y, 256);
  EXPECT_EQ(launch.warp, 64);
  EXPECT_EQ(global_loads(launch), (Cost{4, 8}));
  EXPECT_TRUE(launch.coalesced());
}

template <int N> __global__ void copy_vec(const float* x, float* y) {
  simt::store(y + N * threadIdx.x, simt::load<N>(x + N * threadIdx.x));
}

TEST(Trace, VectorCopiesOf4And8And16Bytes) {
  const Aligned<float> x(512), y(512);
  EXPECT_EQ(global_loads(traced(one_block(128), copy_vec<1>, x, y)), (Cost{4, 4}));
  EXPECT_EQ(global_loads(traced(one_block(128), copy_vec<2>, x, y)), (Cost{4, 8}));
  const auto wide = traced(one_block(128), copy_vec<4>, x, y);
  EXPECT_EQ(global_loads(wide), (Cost{4, 16}));
  EXPECT_EQ(global_stores(wide), (Cost{4, 16}));
  EXPECT_EQ(wide.accesses[0].bytes, 16);
}

__global__ void copy_halves(const half* x, half* y) { y[threadIdx.x] = x[threadIdx.x]; }

TEST(Trace, TwoByteCopy) {
  const Aligned<half> x(64), y(64);
  EXPECT_EQ(global_loads(traced(one_block(64), copy_halves, x, y)), (Cost{2, 2}));
}

struct Pair {
  float a, b;
};
__global__ void copy_pairs(const Pair* x, Pair* y) { y[threadIdx.x] = x[threadIdx.x]; }

TEST(Trace, AStructureOfGlobalMemoryMovesByWords) {  // nvcc does not know that it is aligned to 8 bytes
  const Aligned<Pair> x(32), y(32);
  EXPECT_EQ(global_loads(traced(one_block(32), copy_pairs, x, y)), (Cost{2, 8}));
}

__global__ void count_all(unsigned* counts, int apart) { atomicAdd(counts + threadIdx.x * apart, 1u); }
__global__ void add_floats(float* sum) { atomicAdd(sum, 1.0f); }

TEST(Trace, AtomicsOnGlobalMemory) {
  const Aligned<unsigned> counts(64 * 8);
  EXPECT_EQ(global_atomics(traced(one_block(64), count_all, counts, 0)), (Cost{2, 1}));
  EXPECT_EQ(global_atomics(traced(one_block(64), count_all, counts, 8)), (Cost{2, 32}));
  const Aligned<float> sum(1);
  const auto launch = traced(one_block(64), add_floats, sum);
  EXPECT_EQ(global_atomics(launch), (Cost{2, 1}));
  EXPECT_EQ(global_loads(launch), (Cost{0, 0}));  // g++'s loop around a compare-and-swap is one atomic
  EXPECT_EQ(sum[0], 64);
}

// ---- shared memory -----------------------------------------------------------------------------------------------

__global__ void read_shared(float* y, int stride, int lanes_per_word) {
  __shared__ float s[33 * 32];
  for (int i = threadIdx.x; i < 33 * 32; i += blockDim.x) s[i] = float(i);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x / lanes_per_word * stride];
}

TEST(Trace, BankStrides) {
  const Aligned<float> y(32);
  const int expected[][2] = {{1, 1}, {2, 2}, {3, 1}, {4, 4}, {32, 32}, {33, 1}};
  for (const auto [stride, wavefronts] : expected) {
    const auto launch = traced(one_block(32), read_shared, y, stride, 1);
    EXPECT_EQ(shared_loads(launch), (Cost{1, double(wavefronts)})) << stride;
    EXPECT_EQ(launch.without_conflicts(), wavefronts == 1) << stride;
    EXPECT_EQ(shared_stores(launch), (Cost{33, 1}));
  }
}

TEST(Trace, Broadcast) {
  const Aligned<float> y(32);
  EXPECT_EQ(shared_loads(traced(one_block(32), read_shared, y, 1, 32)), (Cost{1, 1}));
  EXPECT_EQ(shared_loads(traced(one_block(32), read_shared, y, 32, 8)), (Cost{1, 4}));
}

template <int N> __global__ void read_shared_vec(float* y, int apart) {
  float* s = simt::dynamic_shared<float>();
  simt::store(s + N * threadIdx.x, simt::vec<float, N>{});
  __syncthreads();
  simt::store(y + N * threadIdx.x, simt::load<N>(s + N * (threadIdx.x / apart)));
}

TEST(Trace, WideSharedAccesses) {
  const Aligned<float> y(128);
  const Config config{.grid = dim3(1), .block = dim3(32), .smem = 512};
  EXPECT_EQ(shared_loads(traced(config, read_shared_vec<2>, y, 1)), (Cost{1, 2}));
  EXPECT_EQ(shared_loads(traced(config, read_shared_vec<4>, y, 1)), (Cost{1, 4}));
  EXPECT_EQ(shared_stores(traced(config, read_shared_vec<4>, y, 1)), (Cost{1, 4}));
  EXPECT_EQ(shared_loads(traced(config, read_shared_vec<4>, y, 2)), (Cost{1, 2}));
  EXPECT_EQ(shared_loads(traced(config, read_shared_vec<4>, y, 32)), (Cost{1, 2}));
}

__global__ void count_shared(unsigned* y, int counters) {
  __shared__ unsigned counts[32];
  counts[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(counts + threadIdx.x % counters, 1u);
  __syncthreads();
  y[threadIdx.x] = counts[threadIdx.x];
}

TEST(Trace, AtomicsOnSharedMemory) {
  const Aligned<unsigned> y(32);
  EXPECT_EQ(shared_atomics(traced(one_block(32), count_shared, y, 32)), (Cost{1, 1}));
  EXPECT_EQ(shared_atomics(traced(one_block(32), count_shared, y, 4)), (Cost{1, 8}));
}

__global__ void sum_neighbours(float* y) {
  __shared__ float s[32][4];
  for (int i = 0; i < 4; ++i) s[threadIdx.x][i] = 1;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) sum += s[threadIdx.x][i];
  y[threadIdx.x] = sum;
}

TEST(Trace, NeighboursThatNvccMayWidenAreFound) {
  const Aligned<float> y(32);
  const auto launch = traced(one_block(32), sum_neighbours, y);
  const trace::Access* load = nullptr;
  for (const trace::Access& a : launch.accesses)
    if (a.space == Space::shared && a.kind == Kind::load) load = &a;
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->requests, 4);
  EXPECT_EQ(load->wavefronts, 16);
  EXPECT_EQ(load->widened_requests, 1);
  EXPECT_EQ(load->widened_wavefronts, 4);
  EXPECT_FALSE(load->conflicts());
}

// ---- whole kernels -----------------------------------------------------------------------------------------------

template <int Pad> __global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float block[32][32 + Pad];
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) block[j][threadIdx.x] = in[(y + j) * cols + x];
  __syncthreads();
  const int ox = y + threadIdx.x, oy = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) out[(oy + j) * rows + ox] = block[threadIdx.x][j];
}

// As an H200 counts: 512 requests, 2,048 sectors; 512 or 16,384 wavefronts.
TEST(Trace, Transposes) {
  const Aligned<float> in(128 * 128), out(128 * 128);
  const Config config{.grid = dim3(4, 4), .block = dim3(32, 8)};
  const auto padded = traced(config, transpose<1>, in, out, 128, 128);
  EXPECT_EQ(global_loads(padded), (Cost{512, 4}));
  EXPECT_EQ(global_stores(padded), (Cost{512, 4}));
  EXPECT_EQ(shared_stores(padded), (Cost{512, 1}));
  EXPECT_EQ(shared_loads(padded), (Cost{512, 1}));
  EXPECT_TRUE(padded.coalesced() && padded.without_conflicts());
  const auto unpadded = traced(config, transpose<0>, in, out, 128, 128);
  EXPECT_EQ(shared_loads(unpadded), (Cost{512, 32}));
  EXPECT_FALSE(unpadded.without_conflicts());
}

TEST(Trace, AMillionElementsTakeLessThanTwoSeconds) {
  const Aligned<float> in(1024 * 1024), out(1024 * 1024);
  const std::clock_t begin = std::clock();  // processor time, so that other programs do not count
  const auto launch = traced({.grid = dim3(32, 32), .block = dim3(32, 8)}, transpose<1>, in, out, 1024, 1024);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2);
  EXPECT_EQ(global_loads(launch), (Cost{32768, 4}));
}

template <int Warp> __global__ void block_sum(const float* x, float* out) {
  __shared__ float partial[256 / Warp];
  const tile<Warp> warp;
  const auto add = [](float a, float b) { return a + b; };
  float sum = warp.reduce(x[blockIdx.x * 256 + threadIdx.x], add);
  if (warp.rank() == 0) partial[warp.index()] = sum;
  __syncthreads();
  if (warp.index() == 0) {
    sum = warp.reduce(warp.rank() < 256 / Warp ? partial[warp.rank()] : 0.0f, add);
    if (warp.rank() == 0) atomicAdd(out, sum);
  }
}

TEST(Trace, BlockReduce) {
  const Aligned<float> x(1024), sum(1);
  const auto launch = traced({.grid = dim3(4), .block = dim3(256)}, block_sum<32>, x, sum);
  EXPECT_EQ(global_loads(launch), (Cost{32, 4}));
  EXPECT_EQ(shared_stores(launch), (Cost{32, 1}));
  EXPECT_EQ(shared_loads(launch), (Cost{4, 1}));
  EXPECT_EQ(global_atomics(launch), (Cost{4, 1}));
  EXPECT_EQ(launch.unset_reads(), 0);
  EXPECT_TRUE(launch.races.empty());
  const auto wide = traced({.grid = dim3(4), .block = dim3(256), .warp = 64}, block_sum<64>, x, sum);
  EXPECT_EQ(global_loads(wide), (Cost{16, 8}));
  EXPECT_EQ(shared_stores(wide), (Cost{16, 1}));
}

}  // namespace
}  // namespace simt_test
