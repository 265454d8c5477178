// Kernels that break the rules of barriers and collectives. Each must give one exact sentence, with block, thread and
// source lines, in every mode, and must never hang; and the runtime must work afterwards.
//
// Line numbers are __LINE__ plus the offset in the comment beside the statement.
#include <ridge/simt/test/support.hpp>

#include <vector>

namespace simt_test {
namespace {

std::string at(int line) { return "misuse.cu:" + std::to_string(line); }

__global__ void fine(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile<32>().reduce(s[threadIdx.x], [](float a, float b) { return a + b; });
}

void expect_fault(const Status& status, const std::string& sentence) {
  EXPECT_EQ(status.code(), Code::kernel_fault);
  EXPECT_EQ(text(status), sentence);
  std::vector<float> x(64, 1.0f);
  ASSERT_RUNS(launch(one_block(64), fine, x.data()));
}

class SimtMisuse : public ::testing::Test {
 protected:
  SimtMisuse() : order_("RIDGE_SEED", "0"), x_(128) {}
  Setting order_;  // the sentences are those of the default order
  std::vector<float> x_;
};

// ---- barriers ----------------------------------------------------------------------------------------------------
constexpr int two_barriers_line = __LINE__;
__global__ void two_barriers(float* x) {
  if (threadIdx.x < 64) {
    x[0] = 1;
    __syncthreads();  // + 4
  } else {
    __syncthreads();  // + 6
  }
}

TEST_F(SimtMisuse, TwoBarriers) {
  if (race) GTEST_SKIP() << "x[0] is a race too";
  const std::string first = at(two_barriers_line + 4), second = at(two_barriers_line + 6);
  expect_fault(launch(one_block(128), two_barriers, x_.data()),
               "block (0,0,0), thread (64,0,0): divergent __syncthreads: " + second + " reached while others wait at " +
                   first + "; 64 threads wait at __syncthreads (" + first + ", first (0,0,0)); 1 thread waits at " +
                   "__syncthreads (" + second + ", first (64,0,0)); 63 threads are runnable (first (65,0,0))");
}

constexpr int skipped_barrier_line = __LINE__ + 2;
__global__ void skipped_barrier(float* x) {
  if (threadIdx.x % 2) __syncthreads();
  x[threadIdx.x] = 1;
}

TEST_F(SimtMisuse, SkippedBarrier) {
  expect_fault(launch(one_block(64), skipped_barrier, x_.data()),
               "block (0,0,0), thread (1,0,0): deadlock: no thread of the block can proceed; 32 threads have returned "
               "(first (0,0,0)); 32 threads wait at __syncthreads (" +
                   at(skipped_barrier_line) + ", first (1,0,0))");
}

constexpr int early_return_line = __LINE__ + 3;
__global__ void early_return(float* x, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
  x[threadIdx.x] = 1;
}

TEST_F(SimtMisuse, EarlyReturn) {
  expect_fault(launch({dim3(1, 3), dim3(64)}, early_return, x_.data(), 40),
               "block (0,0,0), thread (0,0,0): deadlock: no thread of the block can proceed; 40 threads wait at "
               "__syncthreads (" +
                   at(early_return_line) + ", first (0,0,0)); 24 threads have returned (first (40,0,0))");
}

constexpr int loop_count_line = __LINE__ + 2;
__global__ void loop_count(float* x) {
  for (unsigned i = 0; i < threadIdx.x / 32; ++i) __syncthreads();
  x[threadIdx.x] = 1;
}

TEST_F(SimtMisuse, LoopCount) {
  expect_fault(launch(one_block(64), loop_count, x_.data()),
               "block (0,0,0), thread (32,0,0): deadlock: no thread of the block can proceed; 32 threads have returned "
               "(first (0,0,0)); 32 threads wait at __syncthreads (" +
                   at(loop_count_line) + ", first (32,0,0))");
}

constexpr int vote_and_barrier_line = __LINE__;
__global__ void vote_and_barrier(float* x) {
  if (threadIdx.x < 32) x[threadIdx.x] = static_cast<float>(__syncthreads_or(1));  // + 2
  else __syncthreads();                                                            // + 3
}

TEST_F(SimtMisuse, VoteAndBarrier) {
  const std::string first = at(vote_and_barrier_line + 2), second = at(vote_and_barrier_line + 3);
  expect_fault(launch(one_block(64), vote_and_barrier, x_.data()),
               "block (0,0,0), thread (32,0,0): divergent __syncthreads: " + second + " reached while others wait at " +
                   first + "; 32 threads wait at __syncthreads (" + first + ", first (0,0,0)); 1 thread waits at " +
                   "__syncthreads (" + second + ", first (32,0,0)); 31 threads are runnable (first (33,0,0))");
}

// ---- warps -------------------------------------------------------------------------------------------------------
constexpr int mask32_line = __LINE__ + 1;
__global__ void mask32(float* x) { x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1); }

TEST_F(SimtMisuse, AMaskOf32LanesInAWarpOf64) {
  expect_fault(launch(one_block(64, 64), mask32, x_.data()),
               "block (0,0,0), thread (32,0,0): lane 32 is not in the mask of its warp collective, " + at(mask32_line));
  ASSERT_RUNS(launch(one_block(64, 32), mask32, x_.data()));
}

constexpr int mixed_collectives_line = __LINE__;
__global__ void mixed_collectives(float* x) {
  if (threadIdx.x % 2) x[threadIdx.x] = __shfl_sync(~0ull, 1.0f, 0);            // + 2
  else x[threadIdx.x] = static_cast<float>(__ballot_sync(~0ull, 1) & 0xffffu);  // + 3
}

TEST_F(SimtMisuse, MixedCollectives) {
  expect_fault(launch(one_block(32), mixed_collectives, x_.data()),
               "block (0,0,0), thread (1,0,0): lanes of one warp reached different collectives: ballot at " +
                   at(mixed_collectives_line + 3) + " and shuffle at " + at(mixed_collectives_line + 2));
}

constexpr int two_shuffles_line = __LINE__;
__global__ void two_shuffles(float* x) {
  const tile<32> warp;
  if (threadIdx.x % 32 < 16) x[threadIdx.x] = warp.shfl(1.0f, 0);  // + 3
  else x[threadIdx.x] = warp.shfl(2.0f, 0);                        // + 4
}

TEST_F(SimtMisuse, TheSameCollectiveAtTwoPlaces) {
  expect_fault(launch({dim3(3), dim3(64)}, two_shuffles, x_.data()),
               "block (0,0,0), thread (16,0,0): lanes of one warp reached different collectives: shuffle at " +
                   at(two_shuffles_line + 3) + " and shuffle at " + at(two_shuffles_line + 4));
}

constexpr int half_warp_line = __LINE__;
__global__ void half_warp_full_mask(float* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_sync(~0ull, x[threadIdx.x], 0);  // + 2
  __syncthreads();                                                               // + 3
}

TEST_F(SimtMisuse, HalfAWarpWithTheFullMask) {
  expect_fault(launch(one_block(32), half_warp_full_mask, x_.data()),
               "block (0,0,0), thread (0,0,0): deadlock: no thread of the block can proceed; 16 threads wait in a warp "
               "collective (" +
                   at(half_warp_line + 2) + ", first (0,0,0)); 16 threads wait at __syncthreads (" +
                   at(half_warp_line + 3) + ", first (16,0,0))");
}

constexpr int many_masks_line = __LINE__ + 3;
__global__ void many_masks(float* x) {
  const unsigned long long mine = 3ull << threadIdx.x;  // the last lane never comes, and each waits for the next one
  if (threadIdx.x < 63) x[threadIdx.x] = __shfl_sync(mine, 1.0f, 0);
  else __syncthreads();
}

TEST_F(SimtMisuse, MoreMasksThanAWarpKeeps) {
  expect_fault(launch(one_block(64, 64), many_masks, x_.data()),
               "block (0,0,0), thread (32,0,0): more than 32 masks in flight in one warp, " + at(many_masks_line));
}

// A lane that does not exist gives all ones, which is NaN.
__global__ void absent_lane(float* x) { x[threadIdx.x] = __shfl_down_sync(~0ull, x[threadIdx.x], 8); }

TEST_F(SimtMisuse, AbsentLane) {
  for (int i = 0; i < 20; ++i) x_[i] = static_cast<float>(i);
  ASSERT_RUNS(launch(one_block(20), absent_lane, x_.data()));
  EXPECT_EQ(x_[3], 11.0f);
  EXPECT_TRUE(std::isnan(x_[12]));
}

}  // namespace
}  // namespace simt_test
