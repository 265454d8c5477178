// Asynchronous copies, cuda::barrier, cuda::pipeline and cuda::atomic, through the headers that a program includes.
#include <ridge/simt/test/support.hpp>

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <vector>

namespace simt_test {
namespace {

namespace cg = cooperative_groups;

template <class F> void in_every_order(F f) {
  for (const char* seed : {"0", "1", "2"}) {
    const Setting order("RIDGE_SEED", seed);
    f();
  }
}
std::vector<float> numbers(int n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = static_cast<float>(i * 37 % 101 - 40);
  return x;
}
constexpr int threads = 64;

// ---- a thread's groups ----------------------------------------------------------------------------------------------
// Copies `steps` tiles, two ahead; `prior` groups may be under way where a tile is read.
__global__ void two_ahead(const float* x, float* out, int steps, int prior) {
  __shared__ float memory[3][threads];
  const int i = static_cast<int>(threadIdx.x);
  for (int s = 0; s < 3; ++s) memory[s][i] = -1000;
  __syncthreads();
  for (int s = 0; s < 2; ++s) {
    __pipeline_memcpy_async(&memory[s][i], x + s * threads + i, sizeof(float));
    __pipeline_commit();
  }
  for (int s = 0; s < steps; ++s) {
    if (s + 2 < steps) __pipeline_memcpy_async(&memory[(s + 2) % 3][i], x + (s + 2) * threads + i, sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(static_cast<unsigned>(prior));
    __syncthreads();
    out[s * threads + i] = memory[s % 3][i ^ 63];
    __syncthreads();
  }
}
TEST(LabAsync, AThreadWaitsForItsGroups) {
  in_every_order([] {
    constexpr int steps = 7;
    const std::vector<float> x = numbers(steps * threads);
    std::vector<float> out(x.size());
    ASSERT_RUNS(launch(one_block(threads), two_ahead, x.data(), out.data(), steps, 2));
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], x[i ^ 63]);
    ASSERT_RUNS(launch(one_block(threads), two_ahead, x.data(), out.data(), steps, 3));  // one too few
    EXPECT_EQ(out[0], -1000.0f);
  });
}

__global__ void with_zeros(const float* x, float* out) {
  __pipeline_memcpy_async(out + threadIdx.x * 4, x + threadIdx.x * 4, 16, 4 * (threadIdx.x % 4));
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
__global__ void three_bytes(const float* x, float* out) { __pipeline_memcpy_async(out, x, 3); }
__global__ void askew(const float* x, float* out) { __pipeline_memcpy_async(out + 1, x, 8); }
TEST(LabAsync, FillsWithZeros) {
  alignas(16) float x[64], out[64];
  for (int i = 0; i < 64; ++i) x[i] = static_cast<float>(i + 1), out[i] = -1;
  ASSERT_RUNS(launch(one_block(16), with_zeros, x, out));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], i % 4 < 4 - i / 4 % 4 ? x[i] : 0.0f);
  EXPECT_NE(text(launch(one_block(1), three_bytes, x, out)).find("not 4, 8 or 16 bytes"), std::string::npos);
  EXPECT_NE(text(launch(one_block(1), askew, x, out)).find("misaligned access"), std::string::npos);
}

// ---- barriers -------------------------------------------------------------------------------------------------------
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void meet(const float* x, float* out) {
  __shared__ Barrier barrier;
  __shared__ float memory[threads];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  const int i = static_cast<int>(threadIdx.x);
  for (int round = 0; round < 5; ++round) {
    memory[i] = x[i] + static_cast<float>(round);
    Barrier::arrival_token token = barrier.arrive();
    barrier.wait(std::move(token));
    if (blockIdx.x == 0) out[round * threads + i] = memory[i ^ 63];
    barrier.arrive_and_wait();
  }
}
// Half of the threads leave.
__global__ void drop(int* out) {
  __shared__ Barrier barrier;
  __shared__ int arrived;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    arrived = 0;
  }
  __syncthreads();
  if (threadIdx.x % 2) return barrier.arrive_and_drop();
  barrier.arrive_and_wait();
  atomicAdd(&arrived, 1);
  barrier.arrive_and_wait();
  out[threadIdx.x] = arrived;
}
__global__ void too_many() {
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, 1);
  __syncthreads();
  (void)barrier.arrive(2);
}
TEST(LabAsync, BarriersMeet) {
  in_every_order([] {
    const std::vector<float> x = numbers(threads);
    std::vector<float> out(5 * threads);
    ASSERT_RUNS(launch({dim3(3), dim3(threads)}, meet, x.data(), out.data()));
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], x[(i ^ 63) % threads] + static_cast<float>(i / 64));
    std::vector<int> counts(threads, 32);
    ASSERT_RUNS(launch(one_block(threads), drop, counts.data()));
    EXPECT_EQ(counts, std::vector<int>(threads, 32));
  });
  EXPECT_NE(text(launch(one_block(1), too_many)).find("more threads arrived"), std::string::npos);
}

__global__ void copies_of_a_barrier(const float* x, float* out, int n, bool wait) {
  __shared__ Barrier barrier;
  __shared__ __align__(16) float memory[256];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  for (int i = static_cast<int>(threadIdx.x); i < n; i += threads) memory[i] = -1;
  block.sync();
  if (threadIdx.x == 0) cuda::memcpy_async(memory, x, cuda::aligned_size_t<4>(sizeof(float)), barrier);
  cuda::memcpy_async(block, memory + 1, x + 1, sizeof(float) * static_cast<std::size_t>(n - 1), barrier);
  if (wait) barrier.arrive_and_wait();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += threads) out[i] = memory[i];
}
TEST(LabAsync, ABarrierWaitsForCopies) {
  in_every_order([] {
    const std::vector<float> x = numbers(200);
    std::vector<float> out(x.size());
    ASSERT_RUNS(launch(one_block(threads), copies_of_a_barrier, x.data(), out.data(), 200, true));
    EXPECT_EQ(out, x);
    ASSERT_RUNS(launch(one_block(threads), copies_of_a_barrier, x.data(), out.data(), 200, false));
    EXPECT_EQ(out, std::vector<float>(x.size(), -1.0f));
  });
}

// ---- pipelines ------------------------------------------------------------------------------------------------------
constexpr int stages = 2;

__global__ void thread_pipeline(const float* x, float* out, int steps) {
  __shared__ float memory[stages][threads];
  const int i = static_cast<int>(threadIdx.x);
  auto pipe = cuda::make_pipeline();
  const auto fetch = [&](int s) {
    pipe.producer_acquire();
    if (s < steps) cuda::memcpy_async(&memory[s % stages][i], x + s * threads + i, sizeof(float), pipe);
    pipe.producer_commit();
  };
  fetch(0);
  for (int s = 0; s < steps; ++s) {
    fetch(s + 1);
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    out[s * threads + i] = memory[s % stages][i ^ 63];
    pipe.consumer_release();
    __syncthreads();
  }
}
__global__ void block_pipeline(const float* x, float* out, int steps) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ __align__(16) float memory[stages][threads];
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const int i = static_cast<int>(threadIdx.x);
  for (int fetched = 0, s = 0; s < steps; ++s) {
    for (; fetched < steps && fetched < s + stages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, memory[fetched % stages], x + fetched * threads, sizeof(float) * threads, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[s * threads + i] = memory[s % stages][i ^ 63];
    pipe.consumer_release();
  }
}
// One warp produces, the other consumes.
__global__ void two_roles(const float* x, float* out, int steps) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  __shared__ float memory[stages][threads];
  const auto block = cg::this_thread_block();
  const bool producer = threadIdx.x < 32;
  auto pipe =
      cuda::make_pipeline(block, &state, producer ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int s = 0; s < steps; ++s) {
    if (producer) {
      pipe.producer_acquire();
      for (int i = lane; i < threads; i += 32)
        cuda::memcpy_async(&memory[s % stages][i], x + s * threads + i, sizeof(float), pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      for (int i = lane; i < threads; i += 32) out[s * threads + i] = memory[s % stages][i ^ 63];
      pipe.consumer_release();
    }
  }
}
TEST(LabAsync, Pipelines) {
  constexpr int steps = 9;
  const std::vector<float> x = numbers(steps * threads);
  for (const auto kernel : {thread_pipeline, block_pipeline, two_roles}) {
    in_every_order([&] {
      std::vector<float> out(x.size());
      ASSERT_RUNS(launch(one_block(threads), kernel, x.data(), out.data(), steps));
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], x[i ^ 63]) << i;
    });
  }
}

// ---- atomics --------------------------------------------------------------------------------------------------------
__global__ void locked(cuda::atomic<int, cuda::thread_scope_device>* lock, int* count, int* extremes, float* sum) {
  while (lock->exchange(1, cuda::memory_order_acquire) == 1) {}
  *count += 1;
  lock->store(0, cuda::std::memory_order_release);
  cuda::atomic_ref<int, cuda::thread_scope_device> least(extremes[0]), most(extremes[1]);
  least.fetch_min(static_cast<int>(threadIdx.x) - 7);
  most.fetch_max(static_cast<int>(threadIdx.x), cuda::memory_order_relaxed);
  cuda::atomic_ref<float>(*sum).fetch_add(0.5f);
}
__global__ void handed_on(cuda::atomic<unsigned>* turn, int* order) {
  while (turn->load(cuda::memory_order_acquire) != blockDim.x - 1 - threadIdx.x) {}
  order[turn->load()] = static_cast<int>(threadIdx.x);
  turn->fetch_add(1, cuda::memory_order_release);
}
TEST(LabAsync, AtomicsThatThreadsWaitFor) {
  in_every_order([] {
    cuda::atomic<int, cuda::thread_scope_device> lock(0);
    int count = 0, extremes[2] = {0, 0};
    float sum = 0;
    ASSERT_RUNS(launch({dim3(4), dim3(threads)}, locked, &lock, &count, extremes, &sum));
    EXPECT_EQ(count, 4 * threads);
    EXPECT_EQ(extremes[0], -7);
    EXPECT_EQ(extremes[1], threads - 1);
    EXPECT_EQ(sum, 2.0f * threads);
    EXPECT_EQ(lock.load(), 0);  // on the host too

    cuda::atomic<unsigned> turn{0};
    std::vector<int> order(threads);
    ASSERT_RUNS(launch(one_block(threads), handed_on, &turn, order.data()));
    for (int i = 0; i < threads; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], threads - 1 - i);
  });
}

}  // namespace
}  // namespace simt_test
