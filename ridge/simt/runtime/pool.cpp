#include <ridge/simt/runtime/pool.hpp>

#include <ridge/core/interrupt.hpp>
#include <ridge/core/text.hpp>
#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/observer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace ridge::simt {

// ---- a job, on a worker ------------------------------------------------------------------------------------------

void Job::fail(std::size_t block, Status error) {
  cancel();
  std::lock_guard hold(lock);
  if (block >= failed_block) return;
  failed_block = block;
  failure = std::move(error);
}

static Status interruption() { return Status::error(Code::interrupted, "launch: interrupted by the caller"); }

void Job::interrupt() {
  fail(0, interruption());
  std::lock_guard hold(lock);
  if (failure.code() != Code::interrupted) failure = interruption();  // block 0 had failed before
}

static std::uint32_t mix(std::uint32_t seed, std::size_t n) {
  std::uint64_t x = (seed + n + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ull;
  return static_cast<std::uint32_t>(x >> 32) | 1;
}

// The block that runs at position `turn`. A seed gives a stride that shares no factor with the number of blocks.
static std::size_t block_number(const Job& job, std::size_t turn) {
  if (!job.settings.seed) return turn;
  std::size_t stride = mix(job.settings.seed, 0) % job.blocks;
  while (std::gcd(stride, job.blocks) != 1) ++stride;
  return (turn % job.blocks * stride + job.settings.seed) % job.blocks;
}

// The error where there is no memory for a sentence; made when the library is loaded, and never destroyed.
static const Status& no_memory =
    *new Status(Status::error(Code::out_of_memory, "launch: no memory, not even for a sentence about it"));

// The Status that a callable makes; no exception leaves a worker.
template <class Make> static Status told(Make make) noexcept {
  try {
    return make();
  } catch (...) {
    return no_memory;
  }
}

static void work(Job& job, Worker& w) {
  const dim3 grid = job.config.grid;
  for (std::size_t turn; (turn = job.next.fetch_add(1, std::memory_order_relaxed)) < job.blocks;) {
    const std::size_t n = block_number(job, turn);
    const uint3 block = {static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
                         static_cast<unsigned>(n / grid.x / grid.y)};
    run_block(w, block, job.settings.seed ? mix(job.settings.seed, n) : 0);
    if (w.failure.cause != Cause::none) [[unlikely]] {
      if (w.failure.cause != Cause::reported) after_fault(w);
      job.fail(n, told([&] { return describe_failure(w, job.settings.watchdog_seconds); }));
    }
    w.blocks_done.store(w.blocks_done.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  tsan::acquire(&w.block_token[0]);
  tsan::acquire(&w.block_token[1]);
  tsan::release(&job);
}

// ---- the pool ----------------------------------------------------------------------------------------------------

static std::mutex creating;  // guards the variables below
static Pool* the_pool = nullptr;

// A forked child has no workers: it starts a pool of its own. No other thread holds a lock of ours meanwhile, since a
// child would never see it released.
static void before_fork() {
  creating.lock();
  announcing.lock();
}
static void unlock_after_fork() {
  announcing.unlock();
  creating.unlock();
}
static void after_fork_in_child() {
  forget_workers();
  the_pool = nullptr;
  unlock_after_fork();
}
// Registered when the library is loaded, so that no fork can come between this and the first lock.
static const bool forks_are_seen = pthread_atfork(before_fork, unlock_after_fork, after_fork_in_child) == 0;

Pool& Pool::instance() {
  if (!forks_are_seen) throw std::bad_alloc();
  std::lock_guard hold(creating);
  if (!the_pool) the_pool = new Pool;
  return *the_pool;
}

// Makes `wanted` workers, or as many as the system allows, at least one.
Status Pool::seat_workers(std::size_t wanted) {
  while (seats_.size() < wanted) {
    try {
      auto seat = std::make_unique<Seat>();
      Seat& s = *seat;
      const std::size_t number = seats_.size();
      seats_.reserve(number + 1);
      std::thread([this, &s, number] { serve(s, number); }).detach();
      seats_.push_back(std::move(seat));
    } catch (const std::exception&) {  // no memory, or no more threads
      if (!seats_.empty()) return {};
      return Status::error(Code::out_of_memory, "launch: the system starts no thread to run kernels on");
    }
  }
  return {};
}

void Pool::serve(Seat& seat, std::size_t number) {
  prepare_worker(seat.worker);
  prepare_worker_signals(seat.worker);
  register_worker(seat.worker);
  std::unique_lock hold(lock_);
  for (;;) {
    seat.wake.wait(hold, [&] { return job_ && number < job_->called && seat.declined != jobs_ && job_->unclaimed(); });
    Job& job = *job_;
    ++active_;
    seat.busy = true;
    hold.unlock();
    tsan::acquire(&job);
    const char* lacking = adopt_job(seat.worker, job.config, job.entry);
    if (!lacking) work(job, seat.worker);
    hold.lock();
    if (lacking) decline(job, seat, lacking);
    seat.busy = false;
    if (--active_ == 0 && !job.unclaimed()) done_.notify_one();
  }
}

// A worker without memory leaves the job, and calls another worker in its place. The launch fails only when no worker
// is left.
void Pool::decline(Job& job, Seat& seat, const char* lacking) {
  seat.declined = jobs_;
  ++job.declined;
  if (job.called < seats_.size()) seats_[job.called++]->wake.notify_one();
  else if (job.declined == job.called) job.fail(0, told([&] { return Status::error(Code::out_of_memory, lacking); }));
}

// A caller that can be interrupted is asked at once, and again while another caller's launch, which may be long, runs.
Pool::Turn::Turn(Pool& pool) : pool_(pool) {
  const auto is_free = [&] { return !pool_.turn_is_taken_; };
  const bool asks = can_be_interrupted();
  if (asks && is_interrupted()) return;
  std::unique_lock hold(pool_.turns_);
  if (!asks) pool_.turn_ended_.wait(hold, is_free);
  while (!pool_.turn_ended_.wait_for(hold, std::chrono::milliseconds(50), is_free)) {
    hold.unlock();  // other launches may start and end while the caller answers
    if (is_interrupted()) return;
    hold.lock();
  }
  taken_ = pool_.turn_is_taken_ = true;
}

Pool::Turn::~Turn() {
  if (!taken_) return;
  {
    std::lock_guard hold(pool_.turns_);
    pool_.turn_is_taken_ = false;
  }
  pool_.turn_ended_.notify_one();
}

Status Pool::run(Job& job) {
  const Turn turn(*this);
  if (!turn) return interruption();
  const std::size_t wanted = std::min(job.blocks, static_cast<std::size_t>(job.settings.workers));
  RIDGE_TRY(seat_workers(wanted));
  tsan::release(&job);
  observe::launch_begin(job.config, job.entry);
  {
    FaultHandlers handlers;
    std::unique_lock hold(lock_);
    job_ = &job;
    ++jobs_;
    job.called = std::min(wanted, seats_.size());
    for (std::size_t i = 0; i < job.called; ++i) seats_[i]->wake.notify_one();
    wait_and_watch(job, handlers, hold);
    job_ = nullptr;
  }
  observe::launch_end();
  tsan::acquire(&job);
  return std::move(job.failure);
}

std::size_t Pool::blocks_done() const {
  std::size_t n = 0;
  for (auto& seat : seats_) n += seat->worker.blocks_done.load(std::memory_order_relaxed);
  return n;
}

// ThreadSanitizer delays signals, so a race build can only report the thread that hangs, and end the process.
[[noreturn, maybe_unused]] static void end_process(const Worker& w, double seconds) {
  std::fprintf(stderr, "ridge: %swatchdog: no block of the grid completed in %s s\n", locate(w, *w.current).c_str(),
               number_text(seconds).c_str());
  _exit(66);
}

// Asks whether the caller interrupts the job, without the lock, so that workers continue meanwhile.
bool Pool::ask(Job& job, std::unique_lock<std::mutex>& hold) {
  hold.unlock();
  const bool interrupted = is_interrupted();
  if (interrupted) job.interrupt();
  hold.lock();
  return interrupted;
}

// Time is counted in small ticks, so that a minute in a debugger or of a suspended laptop is one tick.
void Pool::wait_and_watch(Job& job, FaultHandlers& handlers, std::unique_lock<std::mutex>& hold) {
  const auto finished = [&] { return active_ == 0 && !job.unclaimed(); };
  constexpr double for_ever = 1e30, patience = 0.3;  // seconds; running blocks may end by themselves
  double limit = job.settings.watchdog_seconds == 0 ? for_ever : job.settings.watchdog_seconds;
  const bool asks = can_be_interrupted();
  if (limit == for_ever && !asks) return done_.wait(hold, finished);

  const double tick = asks ? std::clamp(limit / 8, 0.02, 0.05) : std::clamp(limit / 8, 0.02, 1.0);
  double stuck = 0;
  bool interrupted = false;
  for (std::size_t before = blocks_done(); !done_.wait_for(hold, std::chrono::duration<double>(tick), finished);) {
    const std::size_t now = blocks_done();
    stuck = now == before || interrupted ? stuck + tick : 0;
    before = now;
    if (asks && !interrupted && ask(job, hold)) {
      interrupted = true;
      stuck = 0;
      if (!race_build) limit = patience;  // a race build cannot abandon a block
    }
    if (stuck < limit) continue;
    job.cancel();
    for (auto& seat : seats_) {
      if (!seat->busy) continue;
      if (race_build && seat->worker.in_fiber) end_process(seat->worker, limit);
      handlers.stop(seat->worker);
    }
  }
}

// ---- launch ------------------------------------------------------------------------------------------------------

static Status check(const Config& c) {
  const std::size_t threads = std::size_t(c.block.x) * c.block.y * c.block.z;
  if (c.block.x > 1024 || c.block.y > 1024 || c.block.z > 64 || threads < 1 || threads > max_threads)
    return Status::invalid("launch", "block", spell(c.block), "of 1 to 1024 threads, and at most (1024,1024,64)");
  if (c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535)
    return Status::invalid("launch", "grid", spell(c.grid), "at most (2147483647,65535,65535)");
  constexpr std::size_t most_smem = 227 << 10;  // that of the largest device
  if (c.smem > most_smem) return Status::invalid("launch", "smem", std::to_string(c.smem), "at most 232448 bytes");
  if (c.warp != 32 && c.warp != 64) return Status::invalid("launch", "warp", std::to_string(c.warp), "32 or 64");
  return {};
}

static Status run_grid(const Config& config, const detail::Entry& entry) {
  if (worker_or_null()) return Status::error(Code::unsupported, "launch: called from inside a kernel");
  RIDGE_TRY(check(config));
  if (detail::empty(config)) return {};
  const Result<Settings> settings = read_settings();
  if (!settings.ok()) return settings.error();
  Job job{.config = config,
          .entry = entry,
          .settings = *settings,
          .blocks = std::size_t(config.grid.x) * config.grid.y * config.grid.z};
  return Pool::instance().run(job);
}

Status detail::run(const Config& config, const Entry& entry) {
  return told([&] { return run_grid(config, entry); });
}

}  // namespace ridge::simt
