// Which lanes are at a place together cannot be asked of fibers that run one after the other: the others are not there
// yet. So the first lane to come gathers: it lets the other lanes of its warp run until none of them can, and those
// that came by then are the answer.
#include <ridge/lab/converge.hpp>

#include <ridge/simt/runtime/scheduler.hpp>

namespace ridge::lab {

using simt::lane_bit;
using simt::lane_mask;
using simt::Thread;
using simt::Worker;

namespace {

// Lives on the stack of the lane that gathers. A warp has one for each place.
struct Gathering {
  simt::detail::where at;
  int first;
  lane_mask lanes;
  Gathering* next;
};

struct Gatherings {
  std::size_t block = 0;  // those of an earlier block are gone
  Gathering* of_warp[simt::max_warps] = {};
};

Gathering*& open_in(const Worker& w, int warp) {
  static thread_local Gatherings all;
  if (all.block != w.number) all = {w.number, {}};
  return all.of_warp[warp];
}

// Lanes that spin, as those that wait for another block do, never stop: after so many turns nobody waits for them.
constexpr int most_turns = 256;

// Lets another lane of the warp run. False where none can, but lanes that gather as well.
bool let_one_run(Worker& w, Thread& t) {
  lane_mask gather = 0;
  for (const Gathering* g = open_in(w, t.warp); g; g = g->next) gather |= lane_bit(g->first);
  const lane_mask ready = w.ready[t.warp] & ~gather;
  if (ready) {
    const lane_mask above = ready & ~(lane_bit(t.lane) | (lane_bit(t.lane) - 1));
    const int lane = std::countr_zero(above ? above : ready);
    simt::take_ready(w, t.warp, lane_bit(lane));
    simt::make_ready(w, t.warp, lane_bit(t.lane));
    simt::switch_thread(w, t, w.threads[(t.warp << w.width_log2) + lane]);
    return true;
  }
  const Thread* lanes = w.threads + (t.warp << w.width_log2);
  for (lane_mask m = w.warp[t.warp].exists; m; m &= m - 1) {
    if (lanes[std::countr_zero(m)].state == simt::State::unstarted) {
      simt::detail::yield();  // which starts threads before all else
      return true;
    }
  }
  return false;
}

}  // namespace

lane_mask lanes_here(simt::detail::where at) {
  Worker& w = simt::here();
  Thread& t = *w.current;
  Gathering*& open = open_in(w, t.warp);
  for (Gathering* g = open; g; g = g->next) {
    if (!simt::same(g->at, at)) continue;
    g->lanes |= lane_bit(t.lane);
    t.state = simt::State::in_collective;
    t.at = at;
    simt::suspend(w, t);
    return t.result;
  }

  Gathering mine{at, t.lane, lane_bit(t.lane), open};
  open = &mine;
  for (int turns = 0; turns < most_turns && let_one_run(w, t);) ++turns;
  Gathering** link = &open;
  while (*link != &mine) link = &(*link)->next;
  *link = mine.next;

  const lane_mask others = mine.lanes & ~lane_bit(t.lane);
  for (lane_mask m = others; m; m &= m - 1)
    w.threads[(t.warp << w.width_log2) + std::countr_zero(m)].result = mine.lanes;
  simt::make_ready(w, t.warp, others);
  return mine.lanes;
}

}  // namespace ridge::lab
