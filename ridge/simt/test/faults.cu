// Kernels that fault, hang or throw: each gives a sentence with block and thread, and the runtime continues to work.
#include <ridge/simt/test/support.hpp>

#include <atomic>
#include <cassert>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace simt_test {
namespace {

__global__ void fine(int* x) {
  __shared__ int s[64];
  s[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}

void expect_fault(const Status& status, const std::string& sentence) {
  EXPECT_EQ(status.code(), Code::kernel_fault);
  EXPECT_EQ(text(status), sentence);
  std::vector<int> x(64);  // and the next kernel runs normally
  ASSERT_RUNS(launch(one_block(64), fine, x.data()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], 63 - i);
}

// ---- exceptions --------------------------------------------------------------------------------------------------
__global__ void throws(int kind) {
  __syncthreads();
  if (threadIdx.x == 7 && kind == 0) throw std::runtime_error("bad index");
  if (threadIdx.x == 7 && kind == 1) throw 42;
  __syncthreads();
}

TEST(SimtFaults, Exception) {
  expect_fault(launch({dim3(4), dim3(64)}, throws, 0), "block (0,0,0), thread (7,0,0): exception: bad index");
  expect_fault(launch(one_block(64), throws, 1),
               "block (0,0,0), thread (7,0,0): exception: of a type that is not derived from std::exception");
}

TEST(SimtFaults, TheFirstBlockThatFailedIsNamed) {
  const Setting workers("RIDGE_WORKERS", "4");
  for (int i = 0; i < 20; ++i)
    expect_fault(launch({dim3(200), dim3(8)}, throws, 0), "block (0,0,0), thread (7,0,0): exception: bad index");
}

// ---- faults ------------------------------------------------------------------------------------------------------
__attribute__((noinline)) int recurse(int* x, int depth) {
  volatile int frame[128] = {};
  frame[depth & 127] = x[0];
  return depth < 0 ? 0 : recurse(x, depth + 1) + frame[depth & 63];
}
__global__ void overflows(int* x) {
  if (threadIdx.x == 3 && threadIdx.y == 1) x[0] = recurse(x, 0);
  __syncthreads();
}
__global__ void writes(int* p) {
  if (threadIdx.x == 5) *static_cast<volatile int*>(p) = 1;
}
__global__ void divides(int* x) {
  if (threadIdx.x == 6) *x = 7 / static_cast<volatile int*>(x)[1];
}
__global__ void aborts(int*) {
  if (threadIdx.x == 2) abort();
}
__global__ void traps(int*) {
  if (threadIdx.x == 2) __builtin_trap();
}

TEST(SimtFaults, StackOverflow) {
  if (!plain) GTEST_SKIP() << "the sanitizer reports it";
  int x[2] = {};
  for (int round = 0; round < 3; ++round) {
    expect_fault(launch({dim3(1), dim3(8, 2)}, overflows, x),
                 "block (0,0,0), thread (3,1,0): stack overflow: the CPU runtime gives each thread 128 KB of stack");
  }
}

int* const wild = reinterpret_cast<int*>(0x10);

TEST(SimtFaults, WildPointer) {
  if (!plain) GTEST_SKIP() << "the sanitizer reports it";
  expect_fault(launch({dim3(1), dim3(64)}, writes, wild),
               "block (0,0,0), thread (5,0,0): illegal access to address 0x10");
}

#if defined(__x86_64__)  // elsewhere x / 0 is 0
TEST(SimtFaults, DivisionByZero) {
  if (!plain) GTEST_SKIP() << "the sanitizer reports it";
  int x[2] = {};
  expect_fault(launch({dim3(1), dim3(64)}, divides, x), "block (0,0,0), thread (6,0,0): integer division by zero");
}
#endif

TEST(SimtFaults, AbortAndTrap) {
  if (!plain) GTEST_SKIP() << "the sanitizer reports it";
  int x[2] = {};
  expect_fault(launch({dim3(1), dim3(64)}, aborts, x),
               "block (0,0,0), thread (2,0,0): abort() was called; a failed assert has printed its text on stderr");
  expect_fault(launch({dim3(1), dim3(64)}, traps, x), "block (0,0,0), thread (2,0,0): trap");
}

// A larger frame than that of a register-tiled kernel built without optimisation.
__attribute__((noinline)) float use_stack(float x) {
  volatile float frame[20 << 10];  // 80 KB
  for (float& f : const_cast<float(&)[20 << 10]>(frame)) f = x;
  return frame[17] + frame[20000];
}
__global__ void large_frames(float* x) {
  x[threadIdx.x] = use_stack(static_cast<float>(threadIdx.x));
  __syncthreads();
  x[threadIdx.x] += use_stack(1);
}

TEST(SimtFaults, LargeFramesFit) {
  if (race) GTEST_SKIP() << "instrumented frames are larger";
  std::vector<float> x(64);
  ASSERT_RUNS(launch(one_block(64), large_frames, x.data()));
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], 2.0f * static_cast<float>(i) + 2.0f);
}

// ---- the program's own handlers ----------------------------------------------------------------------------------
volatile std::sig_atomic_t own_handler_calls = 0;
void own_handler(int) { own_handler_calls = own_handler_calls + 1; }

__global__ void raise_elsewhere(int* x) {
  if (threadIdx.x == 0) {
    raise(SIGSEGV);  // a sent signal, not a fault of this code
    *x = 1;
  }
}

TEST(SimtFaults, OtherSignalsGoToTheProgramsHandler) {
  if (!plain) GTEST_SKIP() << "the sanitizer has handlers of its own";
  struct sigaction own {
  }, former{};
  own.sa_handler = own_handler;
  sigaction(SIGSEGV, &own, &former);
  own_handler_calls = 0;
  int x[2] = {};
  ASSERT_RUNS(launch(one_block(1), raise_elsewhere, x));
  EXPECT_EQ(own_handler_calls, 1);

  expect_fault(launch(one_block(64), writes, wild), "block (0,0,0), thread (5,0,0): illegal access to address 0x10");
  EXPECT_EQ(own_handler_calls, 1);
  struct sigaction after {};
  sigaction(SIGSEGV, &former, &after);
  EXPECT_EQ(after.sa_handler, own_handler);  // restored after each launch
}

// The result of body in a process of its own, with its own handlers: 0 is right.
template <class Body> int in_a_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void install_own_handler() {
  struct sigaction own {};
  own.sa_handler = own_handler;
  sigaction(SIGSEGV, &own, nullptr);
  own_handler_calls = 0;
}

TEST(SimtFaults, AForkDuringAnotherThreadsLaunchLeavesTheChildItsHandlers) {
  if (!plain) GTEST_SKIP() << "sanitizers and threads after fork do not go together";
  struct sigaction former {};
  sigaction(SIGSEGV, nullptr, &former);
  install_own_handler();
  std::atomic<bool> done{false};
  std::thread launching([&done] {
    std::vector<int> x(64);
    while (!done) EXPECT_TRUE(launch({dim3(8), dim3(64)}, fine, x.data()).ok());
  });
  for (int i = 0; i < 60; ++i) {
    const int failed = in_a_child([] {
      int x[64] = {};
      raise(SIGSEGV);
      if (own_handler_calls != 1) return 1;
      if (!launch(one_block(1), raise_elsewhere, x).ok() || own_handler_calls != 2) return 2;
      if (launch(one_block(64), writes, wild).code() != Code::kernel_fault) return 3;
      raise(SIGSEGV);
      return own_handler_calls == 3 ? 0 : 4;
    });
    EXPECT_EQ(failed, 0) << "child " << i;
  }
  done = true;
  launching.join();
  sigaction(SIGSEGV, &former, nullptr);
}

// The workers of a process's first launch take locks of this library and of the C library while they start.
TEST(SimtFaults, AForkWhileWorkersStartLeavesTheChildItsLocks) {
  if (!plain) GTEST_SKIP() << "sanitizers and threads after fork do not go together";
  for (int i = 0; i < 100; ++i) {
    const int failed = in_a_child([i] {  // which has no workers yet
      std::vector<int> x(64);
      std::thread launching([&x] { static_cast<void>(launch({dim3(8), dim3(64)}, fine, x.data())); });
      std::this_thread::sleep_for(std::chrono::microseconds(10 * i));
      const int launch_failed = in_a_child([] {
        std::vector<int> y(64);
        return launch({dim3(8), dim3(64)}, fine, y.data()).ok() ? 0 : 1;
      });
      launching.join();
      return launch_failed ? 1 : 0;
    });
    ASSERT_EQ(failed, 0) << "child " << i;
  }
}

// A handler that calls the former one.
template <int> struct Chained {
  static inline struct sigaction before {};
  static inline std::atomic<int> calls = 0;
  static void handle(int signal, siginfo_t* info, void* context) {
    ++calls;
    if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(signal, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(signal);
  }
};

__global__ void waits_for_the_host(int* state) {
  atomicExch(&state[0], 1);
  while (atomicAdd(&state[1], 0) == 0) __nanosleep(100);
}

template <int n> void install_during_a_launch() {
  int state[2] = {};
  std::thread launching([&state] { EXPECT_TRUE(launch(one_block(1), waits_for_the_host, state).ok()); });
  while (atomicAdd(&state[0], 0) == 0) std::this_thread::yield();
  struct sigaction chained {};
  chained.sa_sigaction = Chained<n>::handle;
  chained.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &chained, &Chained<n>::before);
  atomicExch(&state[1], 1);
  launching.join();
}

// A kernel's fault is reported, and a sent signal reaches each of the program's handlers once.
template <int... n> bool each_is_called_once(std::integer_sequence<int, n...>) {
  int x[2] = {};
  ((Chained<n>::calls = 0), ...);
  own_handler_calls = 0;
  if (launch(one_block(64), writes, wild).code() != Code::kernel_fault) return false;
  ((Chained<n>::calls = 0), ...);
  for (int times = 1; times < 4; ++times) {
    if (times < 3 ? !launch(one_block(1), raise_elsewhere, x).ok() : raise(SIGSEGV) != 0) return false;
    if (own_handler_calls != times || ((Chained<n>::calls != times) || ...)) return false;
  }
  return true;
}

TEST(SimtFaults, HandlersThatChainDuringALaunch) {
  if (!plain) GTEST_SKIP() << "the sanitizer has handlers of its own";
  const int failed = in_a_child([] {
    install_own_handler();
    install_during_a_launch<0>();
    if (!each_is_called_once(std::integer_sequence<int, 0>())) return 1;
    install_during_a_launch<1>();
    install_during_a_launch<2>();
    if (!each_is_called_once(std::integer_sequence<int, 0, 1, 2>())) return 2;
    install_during_a_launch<3>();
    install_during_a_launch<4>();
    install_during_a_launch<5>();
    return each_is_called_once(std::integer_sequence<int, 0, 1, 2, 3, 4, 5>()) ? 0 : 3;
  });
  EXPECT_EQ(failed, 0);
}

TEST(SimtFaults, AHandlerThatIsInstalledAgainInEachLaunch) {
  if (!plain) GTEST_SKIP() << "the sanitizer has handlers of its own";
  const int failed = in_a_child([] {
    install_own_handler();
    for (int i = 1; i < 10; ++i) {
      install_during_a_launch<0>();
      Chained<0>::calls = 0;
      own_handler_calls = 0;
      int x[2] = {};
      if (!launch(one_block(1), raise_elsewhere, x).ok() || Chained<0>::calls != 1 || own_handler_calls != 1) return i;
      if (launch(one_block(64), writes, wild).code() != Code::kernel_fault) return 100 + i;
    }
    return 0;
  });
  EXPECT_EQ(failed, 0);
}

// ---- the watchdog ------------------------------------------------------------------------------------------------
constexpr int waits_line = __LINE__ + 4;
__global__ void waits(volatile int* flag) {
  if (threadIdx.x == 1)
    while (*flag == 0) {}
  __syncthreads();
}
__global__ void sleeps(int* flag) {
  while (atomicAdd(flag, 0) == 0) __nanosleep(100);
}
__global__ void never_ends(int* flag) {
  while (__syncthreads_count(*flag) == 0) {}
}

std::string watchdog(const std::string& who, const std::string& census) {
  return who +
         "watchdog: no block of the grid completed in 0.4 s (RIDGE_WATCHDOG_SECONDS); a thread that waits for "
         "another of its block must call __nanosleep; " +
         census;
}

TEST(SimtFaults, WatchdogEndsASpin) {
  if (race) GTEST_SKIP() << "a race build ends the process: simt.misuse.spins";
  const Setting limit("RIDGE_WATCHDOG_SECONDS", "0.4");
  int flag = 0;
  expect_fault(launch(one_block(3), waits, &flag),
               watchdog("block (0,0,0), thread (1,0,0): ",
                        "1 thread waits at __syncthreads (faults.cu:" + std::to_string(waits_line) +
                            ", first (0,0,0)); 2 threads are runnable (first (1,0,0))"));
}

TEST(SimtFaults, WatchdogEndsASpinThatSleeps) {
  if (race) GTEST_SKIP() << "a race build ends the process";
  const Setting limit("RIDGE_WATCHDOG_SECONDS", "0.4");
  int flag = 0;
  expect_fault(launch(one_block(1), sleeps, &flag),
               watchdog("block (0,0,0), thread (0,0,0): ", "1 thread is runnable (first (0,0,0))"));
  const Status many = launch({dim3(10), dim3(40)}, sleeps, &flag);
  EXPECT_EQ(many.code(), Code::kernel_fault);
  EXPECT_EQ(text(many).find("block ("), 0u) << text(many);
  EXPECT_NE(text(many).find("): watchdog: "), std::string::npos);
  EXPECT_NE(text(many).find("40 threads are runnable (first (0,0,0))"), std::string::npos);
}

TEST(SimtFaults, WatchdogEndsBarriersWithoutEnd) {
  if (race) GTEST_SKIP() << "a race build ends the process";
  const Setting limit("RIDGE_WATCHDOG_SECONDS", "0.4");
  int flag = 0;
  const Status status = launch(one_block(64), never_ends, &flag);
  EXPECT_EQ(status.code(), Code::kernel_fault);
  EXPECT_NE(text(status).find("watchdog"), std::string::npos) << text(status);
}

// Twenty blocks of 0.1 s each: together they exceed the limit, but no single block does.
__global__ void works_for_a_while() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (std::chrono::steady_clock::now() < end) {}
}

TEST(SimtFaults, WatchdogLetsALongKernelBe) {
  const Setting limit("RIDGE_WATCHDOG_SECONDS", "0.8"), one("RIDGE_WORKERS", "1");
  ASSERT_RUNS(launch({dim3(20), dim3(1)}, works_for_a_while));
}

TEST(SimtFaults, WatchdogCanBeSwitchedOff) {
  const Setting off("RIDGE_WATCHDOG_SECONDS", "0");
  ASSERT_RUNS(launch({dim3(2), dim3(1)}, works_for_a_while));
}

}  // namespace
}  // namespace simt_test
