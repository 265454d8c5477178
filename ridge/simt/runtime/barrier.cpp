// __syncthreads and its votes.
#include <ridge/simt/runtime/barrier.hpp>

#include <ridge/simt/runtime/describe.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/runtime/scheduler.hpp>

namespace ridge::simt {

// All threads that have not returned are here.
static void release_all(Worker& w) {
  w.arrived = 0;
  w.barrier_phase ^= 1;
  w.vote_phase ^= 1;
  w.ready_warps = 0;
  for (int i = 0; i < w.warps; ++i) {
    w.ready[i] = w.warp[i].exists & ~w.warp[i].returned;
    w.ready_warps |= (w.ready[i] ? 1u : 0u) << i;
  }
  observe::block_synced();
}

void thread_returned(Worker& w) {
  if constexpr (!returned_threads_pass) return;
  tsan::release(&w.barrier_token[w.barrier_phase]);
  if (w.arrived > 0 && w.arrived == w.count - w.returned) release_all(w);
}

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
  const int all = returned_threads_pass ? w.count - w.returned : w.count;
  if (++w.arrived == all) {  // the last thread releases all, and continues first
    release_all(w);
    take_ready(w, t.warp, lane_bit(t.lane));
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
  ++vote.seen;
  arrive(w, at);
  switch (kind) {
    case Vote::count: return vote.yes;
    case Vote::all: return vote.yes == vote.seen;
    default: return vote.yes != 0;
  }
}

}  // namespace ridge::simt
