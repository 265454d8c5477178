#include <ridge/simt/runtime/faults.hpp>

#include <ridge/simt/runtime/scheduler.hpp>
#include <ridge/simt/runtime/settings.hpp>

#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

namespace ridge::simt {

// ---- which worker, if any, runs on this OS thread ----------------------------------------------------------------
// A table rather than the thread_local pointer: the first use of a thread_local may allocate, which a handler on a
// thread that Ridge knows nothing of must not.
static std::atomic<Worker*> workers[most_workers];
static std::atomic<int> worker_count{0};

void register_worker(Worker& w) {
  const int i = worker_count.fetch_add(1);
  if (i < most_workers) workers[i] = &w;
}

void forget_workers() { worker_count = 0; }

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

static struct sigaction former[NSIG];

// To whoever handled the signal before a kernel ran.
static void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = former[signal];
  if (old.sa_flags & SA_SIGINFO) {
    old.sa_sigaction(signal, info, context);
  } else if (old.sa_handler == SIG_IGN || (old.sa_handler == SIG_DFL && signal == stop_signal)) {
    return;
  } else if (old.sa_handler == SIG_DFL) {
    // The default is to end the process. A fault happens again when the handler returns; what was sent must be resent.
    struct sigaction fatal {};
    fatal.sa_handler = SIG_DFL;
    sigaction(signal, &fatal, nullptr);
    if (info->si_code <= 0) raise(signal);
  } else {
    old.sa_handler(signal);
  }
}

// Leaves the handler for the worker's home without returning: the kernel has no record of handlers in progress but
// the signal mask, which home restores.
[[noreturn]] static void give_up(Worker& w, Cause cause, int signal, std::uintptr_t address) {
  w.failure.cause = cause;
  w.failure.signal = signal;
  w.failure.address = address;
  abandon(w);
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Worker* w = worker_of_this_thread();
  const bool from_code = info->si_code > 0 || signal == SIGABRT;  // and not kill(2)
  if (w && w->in_fiber && from_code) {
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const bool overflow = (signal == SIGSEGV || signal == SIGBUS) && w->stacks.in_guard(address);
    give_up(*w, overflow ? Cause::stack_overflow : Cause::signal, signal, address);
  }
  pass_on(signal, info, context);
  errno = saved_errno;
}

static void on_stop(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Worker* w = worker_of_this_thread();
  if (w && w->stop) {
    if (w->in_fiber) give_up(*w, Cause::watchdog, signal, 0);
  } else {
    pass_on(signal, info, context);
  }
  errno = saved_errno;
}

// ---- installing them ---------------------------------------------------------------------------------------------
static void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, &former[signal]);
}

// Unless someone else has installed a handler meanwhile, which then stays.
static void restore(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handler) sigaction(signal, &former[signal], nullptr);
}

FaultHandlers::FaultHandlers() {
  if constexpr (!sanitizer_reports_faults) {
    for (int signal : fault_signals) install(signal, on_fault);
  }
}

FaultHandlers::~FaultHandlers() {
  if constexpr (!sanitizer_reports_faults) {
    for (int signal : fault_signals) restore(signal, on_fault);
  }
  if (stopping_) restore(stop_signal, on_stop);
}

void FaultHandlers::stop(Worker& w) {
  if (!stopping_) install(stop_signal, on_stop);
  stopping_ = true;
  w.stop = true;
  pthread_kill(w.os_thread, stop_signal);
}

void heed_stop(Worker& w) {
  if (w.stop.load(std::memory_order_relaxed)) [[unlikely]]
    give_up(w, Cause::watchdog, stop_signal, 0);
}

void prepare_worker_signals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (int signal : fault_signals) sigdelset(&blocked, signal);
  sigdelset(&blocked, SIGPROF);  // profilers
  sigdelset(&blocked, stop_signal);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  if constexpr (!sanitizer_reports_faults) {
    constexpr std::size_t bytes = 64 << 10;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    stack_t stack{};
    stack.ss_sp = p;
    stack.ss_size = bytes;
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
