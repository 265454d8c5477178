#include <ridge/simt/runtime/faults.hpp>

#include <ridge/simt/runtime/scheduler.hpp>
#include <ridge/simt/runtime/settings.hpp>

#include <cerrno>

#include <unistd.h>

namespace ridge::simt {

// ---- the worker of this OS thread, if any ------------------------------------------------------------------------
// A table instead of the thread_local pointer: the first use of a thread_local may allocate, which a handler must not
// do on a thread that Ridge does not know.
static std::atomic<Worker*> workers[most_workers];
static std::atomic<int> worker_count{0};

void register_worker(Worker& w) {
  const int i = worker_count.fetch_add(1);
  if (i < most_workers) workers[i] = &w;
}

static Worker* worker_of_this_thread() {
  const int n = worker_count;
  for (int i = 0; i < n; ++i) {
    Worker* w = workers[i];
    if (w && pthread_equal(w->os_thread, pthread_self())) return w;
  }
  return nullptr;
}

// ---- the handlers ------------------------------------------------------------------------------------------------
constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr int stop_signal = SIGURG;  // ignored by default, so that a stray one does no harm

// ---- the former handlers -----------------------------------------------------------------------------------------
// A handler that the program installs over ours while a kernel runs may call ours each time it is called, so ours must
// not pass signals on to it. Therefore ours have levels, each a function with its own former action, which never
// changes while a handler above may call it; the next launch installs the next level over the program's handler.
constexpr int levels = 4;
struct Signal {
  struct sigaction former[levels];
  int covered = 0;         // number of levels that the program has installed a handler over
  bool installed = false;  // whether the level above those is installed
};
static Signal signals[NSIG];

// A program that installs its handler again over ours loses its former action, and the two handlers call each other. So
// each level sets a bit in the delivered siginfo_t (at its end, which Linux clears and does not use), and passes the
// signal to the level below if it is called again.
static unsigned char& levels_passed(siginfo_t* info) {
  return reinterpret_cast<unsigned char*>(info)[sizeof(siginfo_t) - 1];
}
static const struct sigaction& former_of(int signal, int level, siginfo_t* info) {
  static const struct sigaction none {};  // the default
  while (level >= 0 && levels_passed(info) >> level & 1) --level;
  if (level < 0) return none;
  levels_passed(info) |= static_cast<unsigned char>(1 << level);
  return signals[signal].former[level];
}

// Passes a signal to the former handler.
static void pass_on(const struct sigaction& old, int signal, siginfo_t* info, void* context) {
  const bool sent = info->si_code <= 0;
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler == SIG_DFL ? signal == stop_signal : old.sa_handler == SIG_IGN && sent) {
    return;
  } else if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    // The process ends, because a fault cannot be ignored. A fault happens again when the handler returns; a sent
    // signal must be raised again.
    struct sigaction fatal {};
    fatal.sa_handler = SIG_DFL;
    sigaction(signal, &fatal, nullptr);
    if (sent) raise(signal);
  } else {
    old.sa_handler(signal);
  }
}

// Leaves the handler for the worker's home stack without returning: the kernel's only record of a running handler is
// the signal mask, which is restored there.
[[noreturn]] static void give_up(Worker& w, Cause cause, int signal, std::uintptr_t address) {
  w.failure.cause = cause;
  w.failure.signal = signal;
  w.failure.address = address;
  abandon(w);
}

static void catch_fault(Worker& w, int signal, const siginfo_t* info) {
  const bool from_code = info->si_code > 0 || signal == SIGABRT;  // not from kill(2)
  if (!w.in_fiber || !from_code) return;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool overflow = (signal == SIGSEGV || signal == SIGBUS) && w.stacks.in_guard(address);
  give_up(w, overflow ? Cause::stack_overflow : Cause::signal, signal, address);
}

template <int level> static void on_signal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Worker* w = worker_of_this_thread();
  const bool stop = signal == stop_signal && w && w->stop;
  if (stop && w->in_fiber) give_up(*w, Cause::watchdog, signal, 0);
  if (w && signal != stop_signal) catch_fault(*w, signal, info);
  if (!stop) pass_on(former_of(signal, level, info), signal, info, context);
  errno = saved_errno;
}

// ---- installing them ---------------------------------------------------------------------------------------------
using Handler = void (*)(int, siginfo_t*, void*);
constexpr Handler handlers[levels] = {on_signal<0>, on_signal<1>, on_signal<2>, on_signal<3>};

// The level of this action; `levels` if it is not ours.
static int level_of(const struct sigaction& action) {
  int level = 0;
  while (level < levels && !((action.sa_flags & SA_SIGINFO) && action.sa_sigaction == handlers[level])) ++level;
  return level;
}

// Where all levels are covered, the program's handler stays on top and calls our highest level.
static void install(int signal) {
  Signal& s = signals[signal];
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if (level_of(now) < levels || s.covered == levels) return;
  s.former[s.covered] = now;  // before the handler can be called, and before a fork can copy it
  s.installed = true;
  struct sigaction action {};
  action.sa_sigaction = handlers[s.covered];
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// Restores the former action, unless another handler was installed meanwhile, which then stays.
static void restore(int signal) {
  Signal& s = signals[signal];
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  const int level = level_of(now);
  if (level < levels) {
    sigaction(signal, &s.former[level], nullptr);
    s.covered = level;
  } else if (s.installed && now.sa_handler != s.former[s.covered].sa_handler) {
    ++s.covered;
  }
  s.installed = false;
}

void forget_workers() {
  worker_count = 0;
  if constexpr (!sanitizer_reports_faults) {
    for (int signal : fault_signals) restore(signal);
  }
  restore(stop_signal);
}

FaultHandlers::FaultHandlers() {
  if constexpr (!sanitizer_reports_faults) {
    for (int signal : fault_signals) install(signal);
  }
}

FaultHandlers::~FaultHandlers() {
  if constexpr (!sanitizer_reports_faults) {
    for (int signal : fault_signals) restore(signal);
  }
  if (stopping_) restore(stop_signal);
}

void FaultHandlers::stop(Worker& w) {
  if (!stopping_) install(stop_signal);
  stopping_ = true;
  w.stop = true;
  pthread_kill(w.os_thread, stop_signal);
}

void heed_stop(Worker& w) {
  if (w.stop.load(std::memory_order_relaxed)) [[unlikely]]
    give_up(w, Cause::watchdog, stop_signal, 0);
}

void prepare_worker_signals(Worker& w) {
  sigset_t blocked;
  sigfillset(&blocked);
  for (int signal : fault_signals) sigdelset(&blocked, signal);
  sigdelset(&blocked, SIGPROF);  // profilers
  sigdelset(&blocked, stop_signal);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  if constexpr (!sanitizer_reports_faults) {
    stack_t stack{};
    stack.ss_sp = w.signal_stack;
    stack.ss_size = sizeof w.signal_stack;
    sigaltstack(&stack, nullptr);
  }
}

void after_fault(const Worker& w) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, w.failure.signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace ridge::simt
