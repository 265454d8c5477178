// Launches that their caller interrupts: they end within a second, and the runtime continues to work.
#include <ridge/core/interrupt.hpp>
#include <ridge/simt/test/support.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace simt_test {
namespace {

using Clock = std::chrono::steady_clock;

// Interrupts from a time on, and counts how often it is called.
struct Caller {
  explicit Caller(double seconds) : no_from(Clock::now() + std::chrono::milliseconds(int(1000 * seconds))) {
    set_interrupt({[](void* self) { return static_cast<Caller*>(self)->answer(); }, this});
  }
  ~Caller() { set_interrupt({}); }
  int answer() {
    ++asked;
    return Clock::now() >= no_from;
  }
  Clock::time_point no_from;
  int asked = 0;
};

__global__ void counts(std::atomic<int>* n) { ++*n; }
__global__ void dawdles(std::atomic<int>* n) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ++*n;
}
__global__ void hangs(std::atomic<int>* go) {
  while (*go == 0) {}
}
__global__ void waits(std::atomic<int>* go) {
  while (*go == 0) __syncthreads();
}

void expect_interrupted(const Status& status, Clock::time_point begin) {
  EXPECT_EQ(status.code(), Code::interrupted) << text(status);
  EXPECT_EQ(text(status), "launch: interrupted by the caller");
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 1.5);
  std::atomic<int> n{0};
  set_interrupt({});  // and the next launch runs normally
  ASSERT_RUNS(launch({dim3(10), dim3(10)}, counts, &n));
  EXPECT_EQ(n, 100);
}

TEST(SimtInterrupt, BeforeItStarts) {
  Caller caller(0);
  std::atomic<int> n{0};
  const auto begin = Clock::now();
  const Status status = launch(one_block(1), counts, &n);
  EXPECT_EQ(n, 0);
  expect_interrupted(status, begin);
}

TEST(SimtInterrupt, BetweenBlocks) {
  for (const char* watchdog : {"60", "0"}) {
    const Setting seconds("RIDGE_WATCHDOG_SECONDS", watchdog);
    Caller caller(0.2);
    std::atomic<int> n{0};
    const auto begin = Clock::now();
    const Status status = launch({dim3(1u << 20), dim3(1)}, dawdles, &n);
    EXPECT_GT(n, 0);
    expect_interrupted(status, begin);
  }
}

TEST(SimtInterrupt, BehindAnotherThreadsLaunch) {
  std::atomic<int> n{0};
  std::thread other([&] { ASSERT_RUNS(launch({dim3(200), dim3(1)}, dawdles, &n)); });
  while (n == 0) std::this_thread::yield();
  Caller caller(0.1);
  std::atomic<int> none{0};
  const auto begin = Clock::now();
  const Status status = launch(one_block(1), counts, &none);
  EXPECT_EQ(status.code(), Code::interrupted) << text(status);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 1.0);
  EXPECT_EQ(none, 0);
  other.join();
  EXPECT_EQ(n, 200);
}

TEST(SimtInterrupt, InTheMiddleOfABlock) {
  if (race) GTEST_SKIP() << "a race build holds back the signals that end a block";
  Caller caller(0.1);
  std::atomic<int> go{0};
  auto begin = Clock::now();
  expect_interrupted(launch({dim3(8), dim3(64)}, hangs, &go), begin);
  Caller again(0.1);
  begin = Clock::now();
  expect_interrupted(launch({dim3(8), dim3(64)}, waits, &go), begin);
}

TEST(SimtInterrupt, WhoeverIsContentIsAskedAndHasAnAnswer) {
  Caller caller(1e5);
  std::atomic<int> n{0};
  ASSERT_RUNS(launch({dim3(40), dim3(1)}, dawdles, &n));
  EXPECT_EQ(n, 40);
  EXPECT_GT(caller.asked, 1);
  std::thread([&] {  // another thread's launches are not interrupted
    const int before = caller.asked;
    ASSERT_RUNS(launch({dim3(10), dim3(1)}, dawdles, &n));
    EXPECT_EQ(caller.asked, before);
  })
      .join();
}

}  // namespace
}  // namespace simt_test
