// CUDA's own names: barriers that vote, _sync collectives with masks and widths, math and bits.
#include <ridge/simt/dot4.hpp>
#include <ridge/simt/test/support.hpp>

#include <limits>
#include <vector>

namespace simt_test {
namespace {

// ---- barriers that vote ------------------------------------------------------------------------------------------
__global__ void barrier_votes(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  int sum = 0;
  for (int round = 0; round < 3; ++round) sum += __syncthreads_count(i % 3 == round);
  const int every = __syncthreads_and(i < 1000), not_every = __syncthreads_and(i != 5);
  const int some = __syncthreads_or(i == 5), none = __syncthreads_or(i < 0);
  out[i] = sum * 10000 + every * 1000 + not_every * 100 + some * 10 + none;
}

TEST(SimtCudaNames, BarriersVote) {
  for (int threads : {6, 33, 70, 128}) {
    std::vector<int> out(threads);
    ASSERT_RUNS(launch(one_block(threads), barrier_votes, out.data()));
    EXPECT_EQ(out, std::vector<int>(threads, threads * 10000 + 1010)) << threads;
  }
}

// ---- warp collectives --------------------------------------------------------------------------------------------
__global__ void collectives(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const unsigned all = 0xffffffffu;
  int ok = __shfl_sync(all, lane, 3) == 3;
  ok += __shfl_sync(all, lane, 3, 8) == (lane & ~7) + 3;
  ok += __shfl_xor_sync(all, lane, 5) == (lane ^ 5);
  ok += __shfl_up_sync(all, lane, 2u) == (lane >= 2 ? lane - 2 : lane);
  ok += __shfl_down_sync(all, lane, 2u, 4) == (lane % 4 < 2 ? lane + 2 : lane);
  ok += __shfl_sync(all, lane + 0.5, 31) == 31.5;
  ok += __ballot_sync(all, lane & 1) == 0xaaaaaaaau;
  ok += __any_sync(all, lane == 7) == 1;
  ok += __all_sync(all, lane == 7) == 0;
  __syncwarp();
  if (lane < 8) {  // only some lanes, with a partial mask
    ok += __ballot_sync(0xffu, lane < 3) == 7u;
    __syncwarp(0xff);
  } else {
    ok += __any_sync(0xffffff00u, 1) == 1;
  }
  out[threadIdx.x] = ok;
}

TEST(SimtCudaNames, Collectives) {
  std::vector<int> out(64);
  ASSERT_RUNS(launch(one_block(64), collectives, out.data()));
  EXPECT_EQ(out, std::vector<int>(64, 10));
}

// ---- built-in variables ------------------------------------------------------------------------------------------
__global__ void coordinates(int* seen) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  atomicAdd(&seen[block * (blockDim.x * blockDim.y * blockDim.z) + thread], warpSize);
}

TEST(SimtCudaNames, Coordinates) {
  std::vector<int> seen(3 * 4 * 5 * 2 * 3 * 7);
  for (int warp : {32, 64}) {
    std::fill(seen.begin(), seen.end(), 0);
    ASSERT_RUNS(launch({dim3(3, 4, 5), dim3(2, 3, 7), 0, nullptr, warp}, coordinates, seen.data()));
    EXPECT_EQ(seen, std::vector<int>(seen.size(), warp));
  }
}

__constant__ int primes[4] = {2, 3, 5, 7};
__global__ void constants(int* out) { out[threadIdx.x] = primes[threadIdx.x]; }

TEST(SimtCudaNames, ConstantMemory) {
  std::vector<int> out(4);
  ASSERT_RUNS(launch(one_block(4), constants, out.data()));
  EXPECT_EQ(out, (std::vector<int>{2, 3, 5, 7}));
}

// ---- math and bits, which need no kernel -------------------------------------------------------------------------
TEST(SimtCudaNames, Math) {
  EXPECT_FLOAT_EQ(rsqrtf(4.0f), 0.5f);
  EXPECT_FLOAT_EQ(__expf(1.0f), expf(1.0f));
  EXPECT_FLOAT_EQ(__logf(2.0f), logf(2.0f));
  EXPECT_FLOAT_EQ(__powf(2.0f, 3.0f), 8.0f);
  EXPECT_FLOAT_EQ(__fdividef(1.0f, 4.0f), 0.25f);
  EXPECT_FLOAT_EQ(__frcp_rn(8.0f), 0.125f);
  EXPECT_FLOAT_EQ(__fmaf_rn(2.0f, 3.0f, 4.0f), 10.0f);
  EXPECT_FLOAT_EQ(__saturatef(7.0f), 1.0f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(max(nan, 1.0f), 1.0f);  // as on the device
  EXPECT_EQ(min(1.0f, nan), 1.0f);
  EXPECT_EQ(max(-1, 3u), 0xffffffffu);
}

TEST(SimtCudaNames, ConversionsSaturate) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.9f), -2);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rn(inf), 0x7fffffff);
  EXPECT_EQ(__float2int_rn(-3e9f), -0x7fffffff - 1);
  EXPECT_EQ(__float2int_rn(std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(__float2uint_rn(3e9f), 3000000000u);
  EXPECT_EQ(__float2uint_rz(-1.0f), 0u);
  EXPECT_EQ(__float2uint_rz(inf), 0xffffffffu);
  EXPECT_EQ(__int_as_float(__float_as_int(1.5f)), 1.5f);
}

TEST(SimtCudaNames, Bits) {
  EXPECT_EQ(__popc(0xf0f0u), 8);
  EXPECT_EQ(__popcll(~0ull), 64);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__ffsll(1ll << 40), 41);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__brev(0x12345678u), 0x1e6a2c48u);
  EXPECT_EQ(__brevll(2ull), 1ull << 62);
  EXPECT_EQ(__umulhi(0x80000000u, 6u), 3u);
  EXPECT_EQ(__mulhi(-1, 1), -1);
  EXPECT_EQ(__umul64hi(1ull << 63, 6ull), 3ull);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7160u), 0x77116600u);
}

TEST(SimtCudaNames, FourProductsOfSignedBytes) {
  EXPECT_EQ(ridge::simt::dot4(0x04030201, 0x01010101, 100), 110);
  EXPECT_EQ(ridge::simt::dot4(static_cast<int>(0x80ff7f01u), static_cast<int>(0x80ff807fu), 0),
            -128 * -128 + 1 - 127 * 128 + 127);
  EXPECT_EQ(ridge::simt::dot4(0x7f, 0x7f, 0x7fffffff), static_cast<int>(0x7fffffffu + 127u * 127u));  // wraps
}

}  // namespace
}  // namespace simt_test
