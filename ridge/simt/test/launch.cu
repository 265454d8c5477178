// launch: accepted and refused configurations, and its callers.
#include <ridge/simt/test/support.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace simt_test {
namespace {

__global__ void count(int* n) { atomicAdd(n, 1); }

TEST(SimtLaunch, RunsEveryThreadOfEveryBlock) {
  for (const dim3 grid : {dim3(1), dim3(7), dim3(3, 5), dim3(2, 3, 4), dim3(1000)}) {
    int n = 0;
    ASSERT_RUNS(launch({grid, dim3(3, 5)}, count, &n));
    EXPECT_EQ(n, static_cast<int>(15 * grid.x * grid.y * grid.z));
  }
}

TEST(SimtLaunch, AnEmptyGridRunsNothing) {
  int n = 0;
  ASSERT_RUNS(launch({dim3(0), dim3(32)}, count, &n));
  ASSERT_RUNS(launch({dim3(4, 0), dim3(32)}, count, &n));
  ASSERT_RUNS(launch({dim3(4, 4, 0), dim3(32)}, count, &n));
  EXPECT_EQ(n, 0);
}

void expect_refused(const Config& config, const char* sentence) {
  int n = 0;
  const Status status = launch(config, count, &n);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(text(status), sentence);
  EXPECT_EQ(n, 0);
}

TEST(SimtLaunch, RefusesWhatADeviceWouldRefuse) {
  const char* blocks = "; it must be of 1 to 1024 threads, and at most (1024,1024,64)";
  expect_refused({dim3(1), dim3(1025)}, (std::string("launch: block is (1025,1,1)") + blocks).c_str());
  expect_refused({dim3(1), dim3(64, 32)}, (std::string("launch: block is (64,32,1)") + blocks).c_str());
  expect_refused({dim3(1), dim3(1, 1, 65)}, (std::string("launch: block is (1,1,65)") + blocks).c_str());
  expect_refused({dim3(1), dim3(32, 0)}, (std::string("launch: block is (32,0,1)") + blocks).c_str());
  expect_refused({dim3(1, 65536), dim3(32)},
                 "launch: grid is (1,65536,1); it must be at most (2147483647,65535,65535)");
  expect_refused({dim3(1), dim3(32), 232449}, "launch: smem is 232449; it must be at most 232448 bytes");
  expect_refused({dim3(1), dim3(32), 0, nullptr, 16}, "launch: warp is 16; it must be 32 or 64");
}

TEST(SimtLaunch, RefusesNonsenseInTheEnvironment) {
  {
    const Setting workers("RIDGE_WORKERS", "many");
    expect_refused({dim3(1), dim3(1)}, "launch: RIDGE_WORKERS is \"many\"; it must be a number from 1 to 256");
  }
  {
    const Setting seed("RIDGE_SEED", "-1");
    expect_refused({dim3(1), dim3(1)}, "launch: RIDGE_SEED is \"-1\"; it must be a number from 0 to 4294967295");
  }
  {
    const Setting seconds("RIDGE_WATCHDOG_SECONDS", "1m");
    expect_refused({dim3(1), dim3(1)},
                   "launch: RIDGE_WATCHDOG_SECONDS is \"1m\"; it must be a number of seconds, or 0 for no watchdog");
  }
}

TEST(SimtLaunch, WithWarpTakesTheWidthsOfThisBackend) {
  int width = 0;
  const auto note = [&](auto w) {
    width = decltype(w)::value;
    return Status{};
  };
  ASSERT_RUNS(simt::with_warp(32, note));
  EXPECT_EQ(width, 32);
  ASSERT_RUNS(simt::with_warp(64, note));
  EXPECT_EQ(width, 64);
  const Status refused = simt::with_warp(16, note);
  EXPECT_EQ(refused.code(), Code::unsupported);
  EXPECT_EQ(text(refused), "warp width 16; this backend has 32 and 64");
  EXPECT_EQ(text(simt::with_warp(32, [](auto) { return Status::error(Code::io, "its own"); })), "its own");
}

struct Point {
  float x, y;
};
__global__ void arguments(Point p, const double* in, float scale, long long* out, unsigned char byte) {
  *out = static_cast<long long>((p.x + p.y) * scale + *in) + byte;
}

TEST(SimtLaunch, ConvertsArgumentsToTheKernelsParameters) {
  double in = 100;
  long long out = 0;
  ASSERT_RUNS(launch(one_block(1), arguments, Point{1, 2}, &in, 10, &out, 5));
  EXPECT_EQ(out, 135);
}

// Each thread has its own copy of the parameters.
__global__ void change_a_parameter(int n, int* out) {
  n += 1;
  __syncthreads();
  out[threadIdx.x] = n;
}

TEST(SimtLaunch, ParametersBelongToTheThread) {
  std::vector<int> out(40);
  ASSERT_RUNS(launch(one_block(40), change_a_parameter, 6, out.data()));
  EXPECT_EQ(out, std::vector<int>(40, 7));
}

__global__ void relaunch(std::string* sentence) {
  int n = 0;
  *sentence = launch(one_block(1), count, &n).message();
}

TEST(SimtLaunch, RefusesToBeCalledFromAKernel) {
  std::string sentence;
  ASSERT_RUNS(launch(one_block(1), relaunch, &sentence));
  EXPECT_EQ(sentence, "launch: called from inside a kernel");
}

__global__ void reversed(int* x) {
  __shared__ int s[64];
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}

TEST(SimtLaunch, SeveralHostThreadsAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> hosts;
  for (int h = 0; h < 4; ++h) {
    hosts.emplace_back([&wrong, h] {
      for (int round = 0; round < 25; ++round) {
        std::vector<int> x(64 * 5);
        for (int i = 0; i < 64 * 5; ++i) x[i] = h * 1000 + i;
        if (!launch({dim3(5), dim3(64)}, reversed, x.data()).ok()) ++wrong;
        for (int i = 0; i < 64 * 5; ++i) wrong += x[i] != h * 1000 + i / 64 * 64 + 63 - i % 64;
      }
    });
  }
  for (std::thread& host : hosts) host.join();
  EXPECT_EQ(wrong, 0);
}

TEST(SimtLaunch, WorksInAForkedChild) {
  if (!plain) GTEST_SKIP() << "sanitizers and threads after fork do not go together";
  int n = 0;
  ASSERT_RUNS(launch({dim3(4), dim3(32)}, count, &n));
  const pid_t child = fork();
  if (child == 0) {
    int m = 0;
    const bool ok = launch({dim3(4), dim3(32)}, count, &m).ok() && m == 128;
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace simt_test
