// Runs a block: its threads on fibers, then back to the home stack when all have returned or one has failed.
#include <ridge/simt/runtime/block.hpp>

#include <ridge/simt/runtime/barrier.hpp>
#include <ridge/simt/runtime/collective.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/runtime/scheduler.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace ridge::simt::builtin {
constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim{}, gridDim{};
constinit thread_local int warpSize = native_warp;
}  // namespace ridge::simt::builtin

namespace ridge::simt {

// ---- on a fiber --------------------------------------------------------------------------------------------------

// Runs the kernel for one thread. An exception ends the block, outside of its catch handler.
static void run_thread(Worker& w, Thread& t) {
  const auto report = [&](const char* what) {
    w.in_fiber.store(false, std::memory_order_relaxed);
    w.failure.report([&] { return locate(w, t).append("exception: ").append(what); });
  };
  try {
    w.entry.body(w.entry.arguments);
  } catch (const std::exception& e) {
    report(e.what());
  } catch (...) {
    report("of a type that is not derived from std::exception");
  }
}

// Ends the current thread and leaves its fiber, or continues with a thread that has not started: a kernel without
// barriers is a plain loop over its threads.
void fiber_main() {
  asan::arrived(nullptr);
  Worker& w = here();
  for (;;) {
    w.in_fiber.store(true, std::memory_order_relaxed);  // also where another block's thread has left the fiber
    Thread& t = *w.current;
    tsan::acquire(&w.block_token[w.block_parity ^ 1]);
    run_thread(w, t);
    if (w.failure.cause != Cause::none) [[unlikely]]
      abandon(w);
    tsan::release(&w.block_token[w.block_parity]);

    t.state = State::returned;
    ++w.returned;
    lane_returned(w, t);
    thread_returned(w);
    Fiber& here = *t.fiber;
    Thread* next = pick(w, t.warp);
    if (!next) {
      if (w.returned != w.count) fail_deadlock(w);
      w.idle[w.idles++] = &here;
      w.in_fiber.store(false, std::memory_order_relaxed);
      tsan::become(w.home_tsan);
      switch_fiber(w, here, here.sp, w.home, w.home.sp);
      w.in_fiber.store(true, std::memory_order_relaxed);
    } else if (next->state == State::unstarted && !race_build) {
      next->fiber = &here;
      enter(w, *next);
    } else {
      if (next->state == State::unstarted) take_fiber(w, *next);
      else w.idle[w.idles++] = &here;
      enter(w, *next);
      switch_fiber(w, here, here.sp, *next->fiber, next->sp);
    }
  }
}

void* detail::dynamic_shared_memory() { return here().smem.get(); }
std::size_t detail::block_number() { return here().number; }

void detail::misaligned(const volatile void* address, std::size_t alignment, where at) {
  Worker& w = here();
  fail(w, *w.current, [&] {
    char text[80];
    std::snprintf(text, sizeof text, "misaligned access: address %p is not a multiple of %zu, ",
                  const_cast<const void*>(address), alignment);
    return text + spell(at);
  });
}

// ---- at home -----------------------------------------------------------------------------------------------------

void prepare_worker(Worker& w) {
  w.os_thread = pthread_self();
  // The home stack, for AddressSanitizer.
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  w.home.stack = static_cast<char*>(low) + size - std::min(size, Stacks::bytes);
}

// posix_memalign, unlike aligned_alloc, lets AddressSanitizer place its redzone right after the last byte.
static char* allocate_shared(std::size_t bytes) {
  void* p = nullptr;
  return bytes && posix_memalign(&p, 128, bytes) == 0 ? static_cast<char*>(p) : nullptr;
}

const char* adopt_job(Worker& w, const Config& config, const detail::Entry& entry) {
  if (!w.thread_index) {
    if (!announce_worker(w)) return "launch: no memory for the thread-local variables of a worker";
    w.thread_index = &threadIdx;
  }
  if (!w.stacks.map()) return "launch: no address space for the stacks of a worker";
  if (w.smem_bytes != config.smem) {
    w.smem.reset(allocate_shared(config.smem));
    w.smem_bytes = w.smem ? config.smem : 0;
    if (w.smem_bytes != config.smem) return "launch: no memory for the dynamic shared memory of a block";
  }
  const dim3 shape = config.block;
  w.entry = entry;
  w.stop = false;
  blockDim = shape;
  gridDim = config.grid;
  w.width = warpSize = config.warp;
  w.width_log2 = config.warp == 64 ? 6 : 5;
  w.count = static_cast<int>(shape.x * shape.y * shape.z);
  w.warps = (w.count + w.width - 1) / w.width;
  for (int i = 0; i < w.count; ++i) {
    Thread& t = w.threads[i];
    const unsigned n = static_cast<unsigned>(i);
    t.index = {n % shape.x, n / shape.x % shape.y, n / (shape.x * shape.y)};
    t.warp = static_cast<unsigned char>(i / w.width);
    t.lane = static_cast<unsigned char>(i % w.width);
    w.order[i] = static_cast<short>(i);
    if (race_build && !w.thread_tsan[i]) w.thread_tsan[i] = tsan::create();
  }
  for (int i = 0; i < w.warps; ++i) {
    const int lanes = std::min(w.width, w.count - i * w.width);
    w.warp[i].exists = ~lane_mask(0) >> (64 - lanes);
  }
  w.home_tsan = tsan::current();
  tsan::release(&w.block_token[0]);
  tsan::release(&w.block_token[1]);
  return nullptr;
}

// Every fiber starts afresh. For ThreadSanitizer the block's threads end here, before everything that follows.
static void reset_after_failure(Worker& w) {
  if constexpr (race_build) {
    for (int i = 0; i < w.count; ++i) {
      tsan::become(w.thread_tsan[i]);
      tsan::release(&w.block_token[w.block_parity]);
      tsan::become(w.home_tsan);
      tsan::destroy(w.thread_tsan[i]);
      w.thread_tsan[i] = nullptr;
    }
    tsan::acquire(&w.block_token[w.block_parity]);
  }
  w.idles = 0;
  for (int i = 0; i < w.made; ++i) {
    w.fibers[i].fresh = true;
    w.idle[w.idles++] = &w.fibers[i];
  }
}

void run_block(Worker& w, uint3 block, std::uint32_t dice) {
  w.block = blockIdx = block;
  w.dice = dice;
  ++w.number;
  w.block_parity ^= 1;
  w.started = w.returned = w.arrived = 0;
  w.ready_warps = 0;
  for (int i = 0; i < w.warps; ++i) {
    w.ready[i] = w.warp[i].returned = 0;
    w.warp[i].pendings = 0;
  }
  for (int i = 0; i < w.count; ++i) w.threads[i].state = State::unstarted;
  w.failure.cause = Cause::none;
  if (w.dice && w.smem_bytes) {  // kernels must not rely on its contents
    char* before = &w.block_token[w.block_parity ^ 1];
    tsan::acquire(before);
    std::memset(w.smem.get(), 0xff, w.smem_bytes);
    tsan::release(before);
  }

  observe::block_begin();
  Thread& first = *pick_unstarted(w);
  take_fiber(w, first);
  enter(w, first);
  switch_fiber(w, w.home, w.home.sp, *first.fiber, first.sp);
  observe::block_end();

  if (w.failure.cause != Cause::none) [[unlikely]]
    reset_after_failure(w);
}

}  // namespace ridge::simt
