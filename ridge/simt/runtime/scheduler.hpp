// The scheduler of a block: which of its threads runs next. Inlined into the barrier and the collectives, for these
// few lines are most of what a barrier costs.
//
// A ready bitmask per warp; the warp that ran last comes first, so that a warp stays together. When nothing can run,
// that is a deadlock with a census, not a hang.
#pragma once
#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/here.hpp>
#include <ridge/simt/runtime/worker.hpp>

#include <bit>
#include <utility>

namespace ridge::simt {

// Ends the block with a sentence about thread t. The sentence is made by a callable, so that no temporary is left on
// the stack that is abandoned.
[[noreturn]] void abandon(Worker&);
template <class Sentence>
[[noreturn, gnu::cold, gnu::noinline]] void fail(Worker& w, const Thread& t, Sentence sentence) {
  w.in_fiber.store(false, std::memory_order_relaxed);  // past this line no signal interrupts the composing
  w.failure.report([&] { return locate(w, t) + sentence(); });
  abandon(w);
}
[[noreturn, gnu::cold]] void fail_deadlock(Worker&);

void take_fiber(Worker&, Thread&);  // for a thread that starts
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

// A ready lane of this warp, else of the lowest warp, else a thread that has not started, else nobody.
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

// From one fiber, whose stack pointer goes to `save`, to another at `sp`. AddressSanitizer must not be left between
// the two halves of a switch, so to the watchdog that time is not in a fiber; it comes again.
inline void switch_fiber(Worker& w, Fiber& from, void*& save, Fiber& to, void* sp) {
  if constexpr (asan_build) w.in_fiber.store(false, std::memory_order_relaxed);
  asan::leave_for(&from.fake, to.stack, Stacks::bytes);
  switch_stack(&save, sp);
  asan::arrived(from.fake);
  if constexpr (asan_build) w.in_fiber.store(&from != &w.home, std::memory_order_relaxed);
}

// From thread t, which cannot or will not go on, to `next`; returns when t is picked again.
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
