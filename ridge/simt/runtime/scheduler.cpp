// The scheduler's slow paths: random order, yielding, fibers, abandoning a block.
#include <ridge/simt/runtime/scheduler.hpp>

#include <ridge/simt/runtime/block.hpp>
#include <ridge/simt/runtime/describe.hpp>

#include <sched.h>

namespace ridge::simt {

// ---- random order (RIDGE_SEED): any order is legal, so seeds try several -----------------------------------------
static unsigned roll(Worker& w, unsigned sides) {
  w.dice = w.dice * 1664525u + 1013904223u;
  // Uses the high bits: the low ones repeat so soon that spinning threads could keep another from being picked.
  const auto result = static_cast<unsigned>(std::uint64_t{w.dice} * sides >> 32);
  w.dice += w.dice == 0;  // 0 would mean the default order
  return result;
}

Thread* pick_unstarted(Worker& w) {
  if (w.started == w.count) return nullptr;
  if (w.dice) {
    const unsigned left = static_cast<unsigned>(w.count - w.started);
    std::swap(w.order[w.started], w.order[w.started + static_cast<int>(roll(w, left))]);
  }
  return &w.threads[w.order[w.started++]];
}

Thread* pick_randomly(Worker& w) {
  if (!w.ready_warps || (w.started < w.count && roll(w, 4) == 0)) return pick_unstarted(w);
  int warp, lane;
  do warp = static_cast<int>(roll(w, max_warps));
  while (!(w.ready_warps >> warp & 1));
  do lane = static_cast<int>(roll(w, static_cast<unsigned>(w.width)));
  while (!(w.ready[warp] & lane_bit(lane)));
  take_ready(w, warp, lane_bit(lane));
  return &w.threads[(warp << w.width_log2) + lane];
}

// ---- yielding ----------------------------------------------------------------------------------------------------
// The next thread after t in cyclic order, so that spinning threads cannot keep others from running.
static Thread* pick_after(Worker& w, const Thread& t) {
  if (Thread* fresh = pick_unstarted(w)) return fresh;
  if (w.dice) return pick_randomly(w);
  const lane_mask beyond = t.lane == 63 ? 0 : ~lane_mask(0) << (t.lane + 1);
  int warp = t.warp;
  lane_mask lanes = w.ready[warp] & beyond;
  for (int i = 0; i < w.warps && !lanes; ++i) {
    warp = (warp + 1) % w.warps;
    lanes = w.ready[warp];
  }
  if (!lanes) return nullptr;
  const int lane = std::countr_zero(lanes);
  take_ready(w, warp, lane_bit(lane));
  return &w.threads[(warp << w.width_log2) + lane];
}

void detail::yield() {
  Worker& w = here();
  Thread& t = *w.current;
  Thread* next = pick_after(w, t);
  if (!next) {
    sched_yield();  // this thread can only wait for other blocks
    return;
  }
  make_ready(w, t.warp, lane_bit(t.lane));
  switch_thread(w, t, *next);
}

// ---- fibers ------------------------------------------------------------------------------------------------------
void take_fiber(Worker& w, Thread& t) {
  if constexpr (race_build) {  // one stack per thread, because reuse by another thread would look like a race
    w.made = max_threads;
    w.idles = 1;
    w.idle[0] = &w.fibers[&t - w.threads];
  } else if (w.idles == 0) {
    w.idle[w.idles++] = &w.fibers[w.made++];
  }
  Fiber* f = w.idle[--w.idles];
  if (f->fresh) {
    const int number = static_cast<int>(f - w.fibers);
    // Staggers the tops, because otherwise the hot ends of all stacks would share a few cache sets.
    const std::size_t stagger = static_cast<std::size_t>(number) * 192 % 4096;
    f->stack = w.stacks.stack(number);
    asan::unpoison(f->stack, Stacks::bytes);
    f->sp = prepare_stack(f->stack, Stacks::bytes - stagger, fiber_main);
    f->fresh = false;
  }
  t.fiber = f;
  t.sp = f->sp;
}

// ---- abandoning a block ------------------------------------------------------------------------------------------
void abandon(Worker& w) {
  w.in_fiber.store(false, std::memory_order_relaxed);
  tsan::become(w.home_tsan);
  Fiber& here = *w.current->fiber;
  switch_fiber(w, here, here.sp, w.home, w.home.sp);
  std::abort();  // never reached: nothing switches back
}

void fail_deadlock(Worker& w) {
  const Thread* waiting = w.threads;
  while (waiting->state == State::returned) ++waiting;
  fail(w, *waiting, [&] { return "deadlock: no thread of the block can proceed" + census(w); });
}

}  // namespace ridge::simt
