// The pool of workers, and the job that they share: one launch.
#pragma once
#include <ridge/simt/runtime/faults.hpp>
#include <ridge/simt/runtime/settings.hpp>
#include <ridge/simt/runtime/worker.hpp>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace ridge::simt {

struct Job {
  const Config& config;
  detail::Entry entry;
  Settings settings;
  std::size_t blocks;
  std::atomic<std::size_t> next{0};

  // The number of workers that were called to the job, and of those that lack the memory. Guarded by the pool.
  std::size_t called = 0, declined = 0;

  // The error of the failed block with the lowest number.
  std::mutex lock{};
  std::size_t failed_block = ~std::size_t(0);
  Status failure{};

  bool unclaimed() const { return next.load(std::memory_order_relaxed) < blocks; }
  void cancel() { next = blocks; }
  void fail(std::size_t block, Status);
  void interrupt();  // overrides the blocks' errors
};

// Workers sleep between launches. The launching thread runs no kernel: it waits, and detects a launch in which no block
// completes any more.
class Pool {
 public:
  // Never destroyed: a program may launch from its last destructor, and exit while workers sleep.
  static Pool& instance();

  Status run(Job&);

 private:
  struct Seat {
    Worker worker;
    std::condition_variable wake;
    bool busy = false;         // whether the worker is in the job
    std::size_t declined = 0;  // the number of the last job for which the worker lacked memory
  };

  // A launch's turn, for the lifetime of this object; false if the caller gave up waiting.
  class Turn {
   public:
    explicit Turn(Pool&);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return taken_; }

   private:
    Pool& pool_;
    bool taken_ = false;
  };

  Status seat_workers(std::size_t wanted);
  void serve(Seat&, std::size_t number);
  void decline(Job&, Seat&, const char* lacking);
  void wait_and_watch(Job&, FaultHandlers&, std::unique_lock<std::mutex>&);
  bool ask(Job&, std::unique_lock<std::mutex>&);
  std::size_t blocks_done() const;

  // Launches of several host threads take turns. std::timed_mutex does not work: it waits in pthread_mutex_clocklock,
  // which ThreadSanitizer up to GCC 12 does not see, so that it reports each unlock.
  std::mutex turns_;
  std::condition_variable turn_ended_;
  bool turn_is_taken_ = false;

  std::vector<std::unique_ptr<Seat>> seats_;
  std::mutex lock_;  // guards the members below
  std::condition_variable done_;
  Job* job_ = nullptr;
  std::size_t jobs_ = 0;  // jobs so far, which numbers them
  int active_ = 0;        // workers in the job
};

}  // namespace ridge::simt
