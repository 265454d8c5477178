#include <ridge/simt/runtime/describe.hpp>

#include <ridge/core/text.hpp>

#include <algorithm>
#include <cstdio>
#include <new>
#include <vector>

namespace ridge::simt {

std::string spell(where at) {
  const std::string file = at.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(at.line());
}

std::string spell(uint3 i) {
  char text[48];
  std::snprintf(text, sizeof text, "(%u,%u,%u)", i.x, i.y, i.z);
  return text;
}

std::string spell(Collective what) {
  switch (what) {
    case Collective::shuffle: return "shuffle";
    case Collective::ballot: return "ballot";
    default: return "sync";
  }
}

std::string locate(const Worker& w, const Thread& t) {
  std::string s = "block ";
  return s.append(spell(w.block)).append(", thread ").append(spell(t.index)).append(": ");
}

std::string census(const Worker& w) {
  struct Group {
    State state;
    where at;
    int threads;
    uint3 first;
  };
  std::vector<Group> groups;
  for (const Thread* t = w.threads; t != w.threads + w.count; ++t) {
    const bool waits = t->state == State::at_barrier || t->state == State::in_collective;
    const State state = t->state == State::unstarted ? State::runnable : t->state;
    auto g = std::find_if(groups.begin(), groups.end(),
                          [&](const Group& x) { return x.state == state && (!waits || same(x.at, t->at)); });
    if (g == groups.end()) groups.push_back({state, t->at, 1, t->index});
    else ++g->threads;
  }
  std::string s;
  for (const Group& g : groups) {
    const bool one = g.threads == 1;
    s += "; " + std::to_string(g.threads) + (one ? " thread " : " threads ");
    switch (g.state) {
      case State::at_barrier: s += one ? "waits at __syncthreads (" : "wait at __syncthreads ("; break;
      case State::in_collective: s += one ? "waits in a warp collective (" : "wait in a warp collective ("; break;
      case State::returned: s += one ? "has returned (" : "have returned ("; break;
      default: s += one ? "is runnable (" : "are runnable ("; break;
    }
    if (g.state == State::at_barrier || g.state == State::in_collective) s += spell(g.at) + ", ";
    s += "first " + spell(g.first) + ")";
  }
  return s;
}

static std::string what_signal_says(int signal, std::uintptr_t address) {
  char text[96];
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
      std::snprintf(text, sizeof text, "illegal access to address 0x%zx", static_cast<std::size_t>(address));
      return text;
    case SIGFPE: return "integer division by zero";
    case SIGABRT: return "abort() was called; a failed assert has printed its text on stderr";
    case SIGILL:
    case SIGTRAP: return "trap";
    default: return "signal " + std::to_string(signal);
  }
}

Status describe_failure(const Worker& w, double watchdog_seconds) {
  std::string s;
  switch (w.failure.cause) {
    case Cause::none: return {};
    case Cause::reported:
      if (w.failure.sentence.empty()) throw std::bad_alloc();
      s = w.failure.sentence;
      break;
    case Cause::stack_overflow:
      s = locate(w, *w.current) + "stack overflow: the CPU runtime gives each thread " +
          std::to_string(Stacks::bytes >> 10) + " KB of stack";
      break;
    case Cause::signal: s = locate(w, *w.current) + what_signal_says(w.failure.signal, w.failure.address); break;
    case Cause::watchdog:
      s = locate(w, *w.current) + "watchdog: no block of the grid completed in " + number_text(watchdog_seconds) +
          " s (RIDGE_WATCHDOG_SECONDS); a thread that waits for another of its block must call __nanosleep" + census(w);
      break;
  }
  return Status::error(Code::kernel_fault, std::move(s));
}

}  // namespace ridge::simt
