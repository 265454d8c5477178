// The scheduler of a block: chooses the thread that runs next. Inlined into the barrier and the collectives, because
// these few lines are most of a barrier's cost.
//
// Each warp has a bitmask of ready lanes; the warp that ran last comes first, so that a warp stays together. If no
// thread can run, the block ends with a deadlock error that lists all threads, instead of hanging.
#pragma once
#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/worker.hpp>

#include <bit>
#include <utility>

namespace ridge::simt {

// Ends the block with a sentence about thread t. A callable makes the sentence, so that no temporary stays on the
// abandoned stack.
[[noreturn]] void abandon(Worker&);
template <class Sentence>
[[noreturn, gnu::cold, gnu::noinline]] void fail(Worker& w, const Thread& t, Sentence sentence) {
  w.in_fiber.store(false, std::memory_order_relaxed);  // from here on no signal interrupts making the sentence
  w.failure.report([&] { return locate(w, t) + sentence(); });
  abandon(w);
}
[[noreturn, gnu::cold]] void fail_deadlock(Worker&);

void take_fiber(Worker&, Thread&);  // gives a starting thread its fiber
Thread* pick_unstarted(Worker&);
Thread* pick_randomly(Worker&);

inline lane_mask lane_bit(int lane) { return lane_mask(1) << lane; }

inline void make_ready(Worker& w, int warp, lane_mask lanes) {
  if (!lanes) return;
  w.ready[warp] |= lanes;
  w.ready_warps |= 1u << warp;
}

inline void take_ready(Worker& w, int warp, lane_mask lanes) {
  if (!(w.ready[warp] &= ~lanes)) w.ready_warps &= ~(1u << warp);
}

// A ready lane of this warp, else of the lowest ready warp, else a thread that has not started, else null.
inline Thread* pick(Worker& w, int warp) {
  if (w.dice) [[unlikely]]
    return pick_randomly(w);
  if (!w.ready[warp]) {
    if (!w.ready_warps) return w.started < w.count ? &w.threads[w.order[w.started++]] : nullptr;
    warp = std::countr_zero(w.ready_warps);
  }
  const int lane = std::countr_zero(w.ready[warp]);
  take_ready(w, warp, lane_bit(lane));
  return &w.threads[(warp << w.width_log2) + lane];
}

inline void enter(Worker& w, Thread& t) {
  w.current = &t;
  *w.thread_index = t.index;
  t.state = State::runnable;
  if constexpr (race_build) tsan::become(w.thread_tsan[&t - w.threads]);
}

// Switches from one fiber, whose stack pointer goes to `save`, to another at `sp`. A signal must not leave
// AddressSanitizer between the two halves of a switch, so that time counts as outside of a fiber; the watchdog tries
// again.
inline void switch_fiber(Worker& w, Fiber& from, void*& save, Fiber& to, void* sp) {
  if constexpr (asan_build) w.in_fiber.store(false, std::memory_order_relaxed);
  asan::leave_for(&from.fake, to.stack, Stacks::bytes);
  switch_stack(&save, sp);
  asan::arrived(from.fake);
  if constexpr (asan_build) w.in_fiber.store(&from != &w.home, std::memory_order_relaxed);
}

// Switches from thread t, which waits or yields, to `next`; returns when t is picked again.
inline void switch_thread(Worker& w, Thread& t, Thread& next) {
  if (next.state == State::unstarted) take_fiber(w, next);
  enter(w, next);
  if (&next != &t) switch_fiber(w, *t.fiber, t.sp, *next.fiber, next.sp);
}

inline void suspend(Worker& w, Thread& t) {
  Thread* next = pick(w, t.warp);
  if (!next) [[unlikely]]
    fail_deadlock(w);
  switch_thread(w, t, *next);
}

}  // namespace ridge::simt
