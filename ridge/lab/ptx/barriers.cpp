// Barriers of a block, its named ones as well, and instructions that wait or end.
#include <ridge/lab/ptx/program.hpp>

#include <ridge/simt/cpu/runtime.hpp>
#include <ridge/simt/runtime/sanitizer.hpp>

#include <array>
#include <iterator>
#include <stdexcept>

namespace ridge::lab::isa {
namespace {

unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// ---- named barriers -------------------------------------------------------------------------------------------------
// A block has 16, and they are fresh when it begins; it never leaves its OS thread.
struct Named {
  unsigned arrived = 0, threads = 0, phase = 0;
  char token[2] = {};  // for ThreadSanitizer: those of a phase come before those who leave it
};
std::array<Named, 16>& named_barriers() {
  static thread_local std::array<Named, 16> all;
  static thread_local std::size_t of_block = 0;
  if (const std::size_t block = simt::detail::block_number(); of_block != block) {
    for (Named& n : all) n.arrived = 0;
    of_block = block;
  }
  return all;
}
// Returns the phase that the arrival belongs to.
unsigned arrive(const Step& s, unsigned id, unsigned threads) {
  if (id >= 16) throw std::runtime_error("PTX: " + s.spelled + ": a block has 16 barriers");
  if (threads == 0 || threads % 32 != 0 || threads > (threads_of_block() + 31) / 32 * 32)
    throw std::runtime_error("PTX: " + s.spelled + ": " + std::to_string(threads) +
                             " threads are no multiple of 32 within the block");
  Named& barrier = named_barriers()[id];
  if (barrier.arrived == 0) barrier.threads = threads;
  if (barrier.threads != threads)
    throw std::runtime_error("PTX: " + s.spelled + ": other threads wait there for " + std::to_string(barrier.threads) +
                             " threads, and not " + std::to_string(threads));
  const unsigned phase = barrier.phase;
  simt::tsan::release(&barrier.token[phase % 2]);
  if (++barrier.arrived >= std::min(threads, threads_of_block())) {
    barrier.arrived = 0;
    ++barrier.phase;
  }
  return phase;
}

// The barrier that s[first] is the number of; then perhaps for how many threads. Nothing for __syncthreads's own.
struct Meeting {
  unsigned id, threads;
  bool whole_block() const { return id == 0 && threads >= threads_of_block(); }
};
Meeting meeting(const PtxFrame& f, const Step& s, std::size_t first, bool has_threads) {
  const auto id = get<unsigned>(f, s, first);
  return {id, has_threads ? get<unsigned>(f, s, first + 1) : (threads_of_block() + 31) / 32 * 32};
}

PtxAction run_sync(PtxFrame& f, const Step& s) {
  const Meeting at = meeting(f, s, 0, s.arguments.size() == 2);
  if (at.whole_block()) {
    simt::detail::barrier(f.site->at);
    return PtxAction::done;
  }
  const unsigned phase = arrive(s, at.id, at.threads);
  Named& barrier = named_barriers()[at.id];
  while (barrier.phase == phase) simt::detail::yield();
  simt::tsan::acquire(&barrier.token[phase % 2]);
  return PtxAction::done;
}
PtxAction run_arrive(PtxFrame& f, const Step& s) {
  const Meeting at = meeting(f, s, 0, true);
  if (at.id == 0) throw std::runtime_error("PTX: " + s.spelled + ": arriving at barrier 0 is not emulated");
  arrive(s, at.id, at.threads);
  return PtxAction::done;
}
template <simt::detail::Vote vote> PtxAction run_vote(PtxFrame& f, const Step& s) {
  const bool has_threads = s.arguments.size() == 4;
  if (!meeting(f, s, 1, has_threads).whole_block())
    throw std::runtime_error("PTX: " + s.spelled + ": a vote of a part of the block is not emulated");
  const bool mine = bits(f, s[has_threads ? 3 : 2]) != 0;
  put(f, s[0], static_cast<unsigned>(simt::detail::barrier_vote(vote, mine, f.site->at)));
  return PtxAction::done;
}
PtxAction run_warp(PtxFrame& f, const Step& s) {
  simt::detail::sync_warp(get<unsigned>(f, s, 0), f.site->at);
  return PtxAction::done;
}

bool build_barrier(Parts& parts, Step& s) {
  if (parts.take("cluster")) throw Refusal{"clusters"};
  parts.take("cta");
  parts.take("aligned");
  if (parts.take("warp")) {
    s.run = run_warp;
    return parts.take("sync") && parts.empty() && s.is({1});
  }
  if (parts.take("sync")) {
    s.run = run_sync;
    return parts.empty() && (s.is({1}) || s.is({1, 1}));
  }
  if (parts.take("arrive")) {
    s.run = run_arrive;
    return parts.empty() && s.is({1, 1});
  }
  if (!parts.take("red")) return false;
  if (parts.take("popc")) s.run = run_vote<simt::detail::Vote::count>;
  else if (parts.take("and")) s.run = run_vote<simt::detail::Vote::all>;
  else if (parts.take("or")) s.run = run_vote<simt::detail::Vote::any>;
  return parts.take_any("u32", "pred") && parts.empty() && (s.is({1, 1, 1}) || s.is({1, 1, 1, 1}));
}

// ---- waiting, ending ------------------------------------------------------------------------------------------------
PtxAction run_sleep(PtxFrame&, const Step&) {
  simt::detail::yield();
  return PtxAction::done;
}
bool build_sleep(Parts& parts, Step& s) {
  s.run = run_sleep;
  return parts.take("u32") && s.is({1});
}
PtxAction run_nothing(PtxFrame&, const Step&) { return PtxAction::done; }
bool build_nothing(Parts&, Step& s) {
  s.run = run_nothing;
  return true;
}
PtxAction run_trap(PtxFrame& f, const Step&) {
  throw std::runtime_error(std::string("PTX: trap at ") + f.site->file + ":" + std::to_string(f.site->line));
}
bool build_trap(Parts&, Step& s) {
  s.run = run_trap;
  return s.is({});
}
bool build_exit(Parts&, Step&) { throw Refusal{"it ends the thread"}; }

constexpr Opcode all[] = {{"bar", build_barrier},   {"barrier", build_barrier}, {"nanosleep", build_sleep},
                          {"brkpt", build_nothing}, {"pmevent", build_nothing}, {"trap", build_trap},
                          {"exit", build_exit},     {"ret", build_exit}};

}  // namespace

Opcodes barrier_opcodes() { return {all, std::size(all)}; }

}  // namespace ridge::lab::isa
