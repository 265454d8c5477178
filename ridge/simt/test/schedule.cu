// Orders: the default one is fixed, a seed gives another that is always the same, and a waiting thread can let others
// run.
#include <ridge/simt/test/support.hpp>

#include <numeric>
#include <vector>

namespace simt_test {
namespace {

__global__ void arrivals(int* order, int* next) { order[atomicAdd(next, 1)] = static_cast<int>(threadIdx.x); }

std::vector<int> order_of(int threads) {
  std::vector<int> order(threads, -1);
  int next = 0;
  const Status status = launch(one_block(threads), arrivals, order.data(), &next);
  EXPECT_TRUE(status.ok()) << status.message();
  return order;
}

TEST(SimtSchedule, TheDefaultOrderIsByNumber) {
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order_of(100), expected);
}

TEST(SimtSchedule, ASeedGivesAnotherOrderThatIsAlwaysTheSame) {
  std::vector<int> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::vector<int> first, second;
  {
    const Setting seed("RIDGE_SEED", "12");
    first = order_of(100);
    EXPECT_EQ(order_of(100), first);
  }
  {
    const Setting seed("RIDGE_SEED", "13");
    second = order_of(100);
  }
  EXPECT_NE(first, sorted);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, sorted);
}

// The block that comes last depends on the order of blocks; a kernel's result must not.
__global__ void block_arrivals(int* order, int* next) { order[atomicAdd(next, 1)] = static_cast<int>(blockIdx.x); }

TEST(SimtSchedule, ASeedShufflesBlocksToo) {
  const Setting one("RIDGE_WORKERS", "1"), seed("RIDGE_SEED", "5");
  std::vector<int> order(60, -1), sorted(60);
  int next = 0;
  ASSERT_RUNS(launch({dim3(60), dim3(1)}, block_arrivals, order.data(), &next));
  std::iota(sorted.begin(), sorted.end(), 0);
  EXPECT_NE(order, sorted);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, sorted);
}

// Wrong: thread i reads what thread 63-i wrote, without a barrier in between. No order makes it right; the result
// changes with the seed.
__global__ void no_barrier(int* x) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  x[threadIdx.x] = s[63 - threadIdx.x];
}

TEST(SimtSchedule, SeedsShowAMissingBarrier) {
  if (race) GTEST_SKIP() << "a race on purpose";
  std::vector<std::vector<int>> results;
  for (const char* seed : {"1", "2", "3"}) {
    const Setting order("RIDGE_SEED", seed);
    std::vector<int> x(64);
    ASSERT_RUNS(launch(one_block(64), no_barrier, x.data()));
    results.push_back(x);
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[1], results[2]);
}

__global__ void read_unset(unsigned* out) { *out = simt::dynamic_shared<unsigned>()[3]; }

TEST(SimtSchedule, ASeedFillsDynamicSharedMemoryWithNaN) {
  const Setting seed("RIDGE_SEED", "5");
  unsigned out = 0;
  ASSERT_RUNS(launch({dim3(1), dim3(1), 64}, read_unset, &out));
  EXPECT_EQ(out, 0xffffffffu);
}

// ---- waiting with __nanosleep ------------------------------------------------------------------------------------
__global__ void wait_for_the_last(int* flag, int* out) {
  if (threadIdx.x == blockDim.x - 1) atomicExch(flag, 1);
  while (atomicAdd(flag, 0) == 0) __nanosleep(100);
  out[threadIdx.x] = 1;
}

TEST(SimtSchedule, AThreadThatWaitsLetsOthersRun) {
  for (const char* seed : {"0", "3"}) {
    const Setting order("RIDGE_SEED", seed);
    for (int threads : {2, 33, 100}) {
      int flag = 0;
      std::vector<int> out(threads);
      ASSERT_RUNS(launch(one_block(threads), wait_for_the_last, &flag, out.data()));
      EXPECT_EQ(out, std::vector<int>(threads, 1));
    }
  }
}

// The threads of a block take turns: each waits for all before it, in the worst order.
__global__ void turns(int* turn) {
  const int mine = static_cast<int>(blockDim.x - 1 - threadIdx.x);
  while (atomicAdd(turn, 0) != mine) __nanosleep(100);
  atomicAdd(turn, 1);
}

TEST(SimtSchedule, ThreadsTakeTurns) {
  int turn = 0;
  ASSERT_RUNS(launch(one_block(70), turns, &turn));
  EXPECT_EQ(turn, 70);
}

// A block waits for the one before it in any order, by tickets, as in a single-pass scan.
__global__ void chain(int* tickets, int* done, int* sum) {
  __shared__ int ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1);
  __syncthreads();
  if (threadIdx.x != 0) return;
  while (atomicAdd(done, 0) != ticket) __nanosleep(100);
  __threadfence();
  *sum += ticket;
  __threadfence();
  atomicAdd(done, 1);
}

TEST(SimtSchedule, BlocksCanWaitForEarlierOnes) {
  for (const char* seed : {"0", "9"}) {
    const Setting order("RIDGE_SEED", seed);
    int tickets = 0, done = 0, sum = 0;
    ASSERT_RUNS(launch({dim3(50), dim3(32)}, chain, &tickets, &done, &sum));
    EXPECT_EQ(sum, 50 * 49 / 2);
  }
}

}  // namespace
}  // namespace simt_test
