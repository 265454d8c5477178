// The state of one worker: an OS thread that runs blocks, one at a time, the block's threads as fibers on it.
//
// It consists of fixed arrays, so nothing is allocated while a kernel runs.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/launch.hpp>
#include <ridge/simt/runtime/sanitizer.hpp>
#include <ridge/simt/runtime/stacks.hpp>
#include <ridge/simt/runtime/switch.hpp>

#include <atomic>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include <pthread.h>

namespace ridge::simt {

using detail::where;

template <class Where> bool same(Where a, Where b) {
  if constexpr (sizeof(Where) == sizeof(std::uintptr_t)) {  // a pointer to the compiler's record, mostly the same one
    if (std::bit_cast<std::uintptr_t>(a) == std::bit_cast<std::uintptr_t>(b)) return true;
  }
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

constexpr int max_threads = Stacks::count, max_warps = max_threads / 32;

// ---- fibers ------------------------------------------------------------------------------------------------------
struct Fiber {
  void* sp = nullptr;  // the stack pointer while the fiber is idle
  char* stack = nullptr;
  void* fake = nullptr;  // AddressSanitizer's fake stack of the fiber
  bool fresh = true;     // not started, or abandoned: its stack must be prepared
};

// ---- the threads of a block --------------------------------------------------------------------------------------
enum class State : unsigned char { unstarted, runnable, at_barrier, in_collective, returned };

struct alignas(64) Thread {     // one cache line, because a barrier touches every thread
  std::uint64_t value, result;  // of the thread's current collective
  void* sp;                     // the stack pointer while the thread waits
  Fiber* fiber;
  where at;  // the line where it waits
  uint3 index;
  short source;  // the lane that its shuffle reads from
  unsigned char warp, lane;
  State state;
};
static_assert(sizeof(Thread) == 64 || sizeof(where) > 8);

// ---- the warps of a block ----------------------------------------------------------------------------------------
enum class Collective : unsigned char { shuffle, ballot, sync };

// A collective that some lanes have reached and others have not.
struct Pending {
  lane_mask mask, arrived;
  Collective what;
  unsigned char token;
  where at;
};

struct Warp {
  static constexpr int most_pending = 32, tokens = 64;  // tiles of two lanes, in warps of 64

  lane_mask exists = 0, returned = 0;
  int pendings = 0;
  unsigned round = 0;  // numbers the collectives, so that consecutive ones have different tokens
  Pending pending[most_pending];
  char token[tokens];  // their addresses identify synchronisation for ThreadSanitizer
};

// ---- how a block ends early --------------------------------------------------------------------------------------
enum class Cause : unsigned char { none, reported, stack_overflow, signal, watchdog };

struct Failure {
  volatile Cause cause = Cause::none;
  volatile int signal = 0;  // for Cause::signal
  volatile std::uintptr_t address = 0;
  std::string sentence;  // for Cause::reported; empty if there was no memory for it

  // Sets the sentence that a callable makes. An exception of the callable does not leave this function.
  template <class Sentence> void report(Sentence make) noexcept {
    try {
      sentence = make();
    } catch (...) {
      sentence.clear();
    }
    cause = Cause::reported;
  }
};

// ---- the worker --------------------------------------------------------------------------------------------------
struct Worker {
  // The block.
  Thread* current = nullptr;
  uint3* thread_index = nullptr;  // this OS thread's threadIdx; null until it is known to be allocated
  int count = 0, started = 0, returned = 0, arrived = 0;
  int warps = 0, width = 32, width_log2 = 5;
  lane_mask ready[max_warps] = {};  // the lanes of each warp that can run
  unsigned ready_warps = 0;         // the warps that have such lanes, as bits
  std::size_t number = 0;           // of the block, counting this worker's blocks
  where barrier_at;
  struct {
    int yes, seen;
  } vote[2] = {};  // for barrier_vote; two, because a thread that leaves late reads the former one
  int vote_phase = 0;
  std::uint32_t dice = 0;  // 0: the default order

  // ThreadSanitizer's tokens. They alternate, so that a thread that leaves late is not ordered after one that arrives
  // early.
  int barrier_phase = 0, block_parity = 0;
  char barrier_token[2], block_token[2];
  void* home_tsan = nullptr;
  void* thread_tsan[max_threads] = {};

  // The job.
  detail::Entry entry;
  std::unique_ptr<char, void (*)(void*)> smem{nullptr, std::free};
  std::size_t smem_bytes = 0;

  // Fibers.
  Fiber home;  // the OS thread's own stack
  Fiber* idle[max_threads];
  int made = 0, idles = 0;
  Stacks stacks;
  Failure failure;
  // Whether a signal handler may abandon the block and go to the home stack. The fibers set and clear it themselves.
  std::atomic<bool> in_fiber{false};

  // The OS thread.
  pthread_t os_thread{};
  alignas(16) char signal_stack[64 << 10];  // a fiber whose stack is full cannot run a handler
  uint3 block{};                            // blockIdx, where other threads can read it
  std::atomic<std::size_t> blocks_done{0};
  std::atomic<bool> stop{false};  // the watchdog wants the block abandoned

  Warp warp[max_warps];
  Thread threads[max_threads];
  short order[max_threads];  // the order in which threads start
  Fiber fibers[max_threads];
};

// Makes the calling OS thread a worker.
void prepare_worker(Worker&);
// Prepares the worker for a job's block shape and kernel. Returns what there was no memory for, or null on success.
// Called again for every job.
const char* adopt_job(Worker&, const Config&, const detail::Entry&);
// Runs one block; a `dice` of 0 is the default order. Afterwards failure.cause says whether the block ended early.
void run_block(Worker&, uint3 block, std::uint32_t dice);

}  // namespace ridge::simt
