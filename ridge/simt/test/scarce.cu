// The runtime where the system's resources are scarce: each launch runs, or says in a sentence what there was no memory
// for, and the next one runs normally. Each trial is a process of its own, whose first launch makes the workers.
#include <ridge/simt/test/inject.hpp>
#include <ridge/simt/test/support.hpp>

#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace simt_test {
namespace {

// ---- the launches ------------------------------------------------------------------------------------------------
__global__ void reverse(int* x) {
  int* s = simt::dynamic_shared<int>();
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  x[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
}
Status reverse_right(unsigned blocks, std::size_t smem = 64 * sizeof(int)) {
  static int x[200 * 64];  // static, so that no allocation of the test can fail
  for (int i = 0; i < static_cast<int>(blocks) * 64; ++i) x[i] = i;
  const Status status = launch({dim3(blocks), dim3(64), smem}, reverse, x);
  for (int i = 0; i < static_cast<int>(blocks) * 64 && status.ok(); ++i)
    if (x[i] != i / 64 * 64 + 63 - i % 64) return Status::error(Code::kernel_fault, "a wrong result");
  return status;
}

__global__ void throws() {
  __syncthreads();
  if (threadIdx.x == 7) throw std::runtime_error("an index that is too large for its table, whichever that is");
}
__global__ void parts_at_a_barrier() {
  if (threadIdx.x % 2) __syncthreads();
  else __syncthreads();
}
__global__ void skips_a_barrier() {
  if (threadIdx.x % 2) __syncthreads();
}
__global__ void writes_to_nowhere() { *reinterpret_cast<volatile int*>(threadIdx.x + 1) = 1; }

struct Launch {
  const char* name;
  Code code;  // without a fault
  Status (*run)();
  bool warm = false;  // whether another launch runs before it, so that there are workers
};
constexpr Launch launches[] = {
    {"the first launch", Code::ok, [] { return reverse_right(16); }},
    {"more shared memory", Code::ok, [] { return reverse_right(16, 100 << 10); }, true},
    {"a block too large", Code::invalid_argument,
     [] {
       return launch({dim3(1), dim3(2000)}, throws);
     }},
    {"an exception", Code::kernel_fault,
     [] {
       return launch({dim3(8), dim3(64)}, throws);
     }},
    {"a divergent barrier", Code::kernel_fault,
     [] {
       return launch({dim3(8), dim3(64)}, parts_at_a_barrier);
     }},
    {"a deadlock", Code::kernel_fault,
     [] {
       return launch({dim3(8), dim3(64)}, skips_a_barrier);
     },
     true},
    {"a wild pointer", Code::kernel_fault,
     [] {
       return launch({dim3(8), dim3(64)}, writes_to_nowhere);
     },
     true},
};

// ---- a trial, in a process of its own ----------------------------------------------------------------------------
struct Trial {
  bool reached = false, right = false;  // whether the fault was reached; whether the trial passed
  char fault[64] = "", told[200] = "";
};

template <class Body> Trial in_a_child(Body body) {
  static auto* shared =
      static_cast<Trial*>(mmap(nullptr, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *shared = {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body(*shared);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) {
    shared->right = false;
    std::snprintf(shared->told, sizeof shared->told, "the process ended by %s %d",
                  WIFSIGNALED(status) ? "signal" : "exit",
                  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  return *shared;
}

// A launch under a fault must give an error for the fault or its usual result; afterwards it must behave as without
// one.
void judge(Trial& trial, const Launch& what, const Status& under_fault) {
  std::snprintf(trial.told, sizeof trial.told, "%s", std::string(under_fault.message()).c_str());
  const Status after = what.run(), good = reverse_right(16);
  trial.right = (under_fault.code() == what.code || under_fault.code() == Code::out_of_memory) &&
                !under_fault.message().empty() && after.code() == what.code && good.ok();
  if (!good.ok() || after.code() != what.code) {
    std::snprintf(trial.told, sizeof trial.told, "afterwards: %s",
                  std::string((good.ok() ? after : good).message()).c_str());
  }
}

class SimtScarce : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!plain) GTEST_SKIP() << "sanitizers have memory of their own";
  }
};

// ---- faults, one at each step ------------------------------------------------------------------------------------
TEST_F(SimtScarce, AFaultAtEachStep) {
  const Setting workers("RIDGE_WORKERS", "3");
  std::printf("%-20s  %-14s  %-12s  %5s  %s\n", "launch", "what fails", "", "steps",
              "what was seen, and ok afterwards");
  for (const Launch& what : launches) {
    for (const bool and_all_after : {false, true}) {
      std::map<std::pair<std::string, std::string>, int> seen;  // fault and outcome, times
      for (int step = 1;; ++step) {
        const Trial trial = in_a_child([&](Trial& t) {
          if (what.warm && !reverse_right(16).ok()) return;
          inject(step, and_all_after);
          const Status status = what.run();
          std::strcpy(t.fault, stop_injecting());
          t.reached = t.fault[0] != 0;
          judge(t, what, status);
        });
        EXPECT_TRUE(trial.right) << what.name << ", step " << step << " (" << trial.fault << "): " << trial.told;
        if (!trial.reached || HasFailure()) break;
        ++seen[{trial.fault, std::string(trial.told, strnlen(trial.told, 72))}];
        ASSERT_LT(step, 1000);
      }
      for (const auto& [row, times] : seen)
        std::printf("%-20s  %-14s  %-12s  %5d  %s\n", what.name, row.first.c_str(),
                    and_all_after ? "from then on" : "once", times, row.second.c_str());
    }
  }
}

// ---- limits of the address space ---------------------------------------------------------------------------------
std::size_t address_space_in_use() {
  std::size_t pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%zu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}
void limit_address_space(rlim_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
}

TEST_F(SimtScarce, OneWorkerIsEnough) {
  const Setting workers("RIDGE_WORKERS", "24");
  const Trial trial = in_a_child([](Trial& t) {
    limit_address_space(rlim_t{2} << 30);
    t.right = true;
    for (int i = 0; i < 30 && t.right; ++i) {
      const Status status = reverse_right(200);
      t.right = status.ok();
      std::snprintf(t.told, sizeof t.told, "%s", std::string(status.message()).c_str());
    }
  });
  EXPECT_TRUE(trial.right) << trial.told;
}

// Limits from less than one thread needs to more than all workers need.
TEST_F(SimtScarce, EveryLimit) {
  const Setting workers("RIDGE_WORKERS", "3");
  std::map<std::string, int> seen;
  for (std::size_t more = 0; more < 700u << 20; more += more < 20u << 20 ? 1 << 20 : 17 << 20) {
    const Trial trial = in_a_child([&](Trial& t) {
      rlimit before{};
      getrlimit(RLIMIT_AS, &before);
      limit_address_space(address_space_in_use() + more);
      const Status status = reverse_right(16);
      limit_address_space(before.rlim_cur);
      judge(t, launches[0], status);
    });
    EXPECT_TRUE(trial.right) << more << " bytes: " << trial.told;
    ++seen[trial.told];
  }
  for (const auto& [told, times] : seen) std::printf("%3d limits: %s\n", times, told.c_str());
  EXPECT_GT(seen["ok"], 0);
  EXPECT_GT(seen.size(), 1u);
}

}  // namespace
}  // namespace simt_test
