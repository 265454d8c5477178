// Warp collectives: shuffles, ballots, __syncwarp.
//
// A collective belongs to the lanes of its mask, so lanes of one warp may be in several at once. The last lane to
// arrive computes every lane's result: no lane reads another's slot later, when it may hold the next value.
#include <ridge/simt/runtime/collective.hpp>

#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/runtime/scheduler.hpp>

namespace ridge::simt {

constexpr std::uint64_t poison = ~std::uint64_t(0);  // NaN or -1: the value read from a lane that does not exist

static void finish(Worker& w, int warp, Pending& p) {
  Thread* lanes = w.threads + (warp << w.width_log2);
  if (p.what == Collective::shuffle) {
    for (lane_mask m = p.arrived; m; m &= m - 1) {
      Thread& t = lanes[std::countr_zero(m)];
      t.result = p.arrived & lane_bit(t.source) ? lanes[t.source].value : poison;
    }
  } else if (p.what == Collective::ballot) {
    lane_mask votes = 0;
    for (lane_mask m = p.arrived; m; m &= m - 1) votes |= lanes[std::countr_zero(m)].value << std::countr_zero(m);
    for (lane_mask m = p.arrived; m; m &= m - 1) lanes[std::countr_zero(m)].result = votes;
  }
  observe::lanes_synced(warp, p.mask);
  make_ready(w, warp, p.arrived);
  p = w.warp[warp].pending[--w.warp[warp].pendings];
}

static bool complete(const Warp& warp, const Pending& p) { return p.arrived == (p.mask & ~warp.returned); }

void lane_returned(Worker& w, const Thread& t) {
  Warp& warp = w.warp[t.warp];
  warp.returned |= lane_bit(t.lane);
  for (int i = 0; i < warp.pendings;) {
    if (complete(warp, warp.pending[i])) finish(w, t.warp, warp.pending[i]);
    else ++i;
  }
}

static std::uint64_t meet(Worker& w, Collective what, lane_mask mask, std::uint64_t value, int source, where at) {
  Thread& t = *w.current;
  Warp& warp = w.warp[t.warp];
  const lane_mask me = lane_bit(t.lane);
  if (!(mask & me)) [[unlikely]] {
    fail(w, t,
         [&] { return "lane " + std::to_string(t.lane) + " is not in the mask of its warp collective, " + spell(at); });
  }
  mask &= warp.exists;

  Pending* p = warp.pending;
  Pending* const end = p + warp.pendings;
  while (p != end && p->mask != mask) ++p;
  if (p == end) {
    if (warp.pendings == Warp::most_pending) [[unlikely]]
      fail(w, t, [&] { return "more than 32 masks in flight in one warp, " + spell(at); });
    *p = {mask, 0, what, static_cast<unsigned char>(warp.round++ % Warp::tokens), at};
    ++warp.pendings;
  } else if (p->what != what || !same(p->at, at)) [[unlikely]] {
    fail(w, t, [&] {
      return "lanes of one warp reached different collectives: " + spell(p->what) + " at " + spell(p->at) + " and " +
             spell(what) + " at " + spell(at);
    });
  }

  t.value = value;
  t.source = static_cast<short>(source);
  p->arrived |= me;
  char* token = &warp.token[p->token];
  tsan::release(token);
  if (complete(warp, *p)) {
    finish(w, t.warp, *p);
    take_ready(w, t.warp, me);
  } else {
    t.state = State::in_collective;
    t.at = at;
    suspend(w, t);
  }
  tsan::acquire(token);
  return t.result;
}

// The lane that lane `me` reads from, by CUDA's rules.
static int source_lane(int me, detail::Source source, int operand, int width) {
  const int first = me & ~(width - 1), end = first + width;
  int lane = me;
  switch (source) {
    case detail::Source::index: return first | (operand & (width - 1));
    case detail::Source::flip: lane = me ^ operand; return lane < end ? lane : me;
    case detail::Source::up: lane = me - operand; return lane >= first ? lane : me;
    case detail::Source::down: lane = me + operand; return lane < end ? lane : me;
  }
  return lane;
}

std::uint64_t detail::shuffle(lane_mask mask, std::uint64_t word, Source source, int operand, int width, where at) {
  Worker& w = here();
  return meet(w, Collective::shuffle, mask, word, source_lane(w.current->lane, source, operand, width), at);
}

lane_mask detail::ballot(lane_mask mask, bool predicate, where at) {
  return meet(here(), Collective::ballot, mask, predicate, 0, at);
}

void detail::sync_warp(lane_mask mask, where at) { meet(here(), Collective::sync, mask, 0, 0, at); }

}  // namespace ridge::simt
