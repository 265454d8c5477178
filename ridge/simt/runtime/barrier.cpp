// __syncthreads and its votes.
#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/runtime/scheduler.hpp>

namespace ridge::simt {

static void arrive(Worker& w, where at) {
  Thread& t = *w.current;
  if (w.arrived == 0) {
    w.barrier_at = at;
  } else if (!same(at, w.barrier_at)) [[unlikely]] {
    t.state = State::at_barrier;
    t.at = at;
    fail(w, t, [&] {
      return "divergent __syncthreads: " + spell(at) + " reached while others wait at " + spell(w.barrier_at) +
             census(w);
    });
  }
  char* token = &w.barrier_token[w.barrier_phase];
  tsan::release(token);
  if (++w.arrived == w.count) {  // the last thread releases all, and continues first
    w.arrived = 0;
    w.barrier_phase ^= 1;
    for (int i = 0; i < w.warps; ++i) w.ready[i] = w.warp[i].exists;
    w.ready_warps = ~0u >> (32 - w.warps);
    take_ready(w, t.warp, lane_bit(t.lane));
    observe::block_synced();
  } else {
    t.state = State::at_barrier;
    t.at = at;
    suspend(w, t);
  }
  tsan::acquire(token);
}

void detail::barrier(where at) { arrive(here(), at); }

int detail::barrier_vote(Vote kind, bool predicate, where at) {
  Worker& w = here();
  auto& vote = w.vote[w.vote_phase];
  if (w.arrived == 0) vote = {0, 0};
  vote.yes += predicate;
  if (++vote.seen == w.count) w.vote_phase ^= 1;
  arrive(w, at);
  switch (kind) {
    case Vote::count: return vote.yes;
    case Vote::all: return vote.yes == w.count;
    default: return vote.yes != 0;
  }
}

}  // namespace ridge::simt
