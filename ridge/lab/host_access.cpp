#include <ridge/lab/host_access.hpp>

#include <ridge/lab/session.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include <ucontext.h>

namespace ridge::lab {

static struct sigaction former;

// Passes the signal to the former handler. Where there is none the process ends: a fault happens again when this
// returns, a signal that was sent must be raised again.
static void pass_on(int signal, siginfo_t* info, void* context) {
  if (former.sa_flags & SA_SIGINFO) {
    former.sa_sigaction(signal, info, context);
  } else if (former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) {
    former.sa_handler(signal);
  } else {
    const bool sent = info->si_code <= 0;
    if (sent && former.sa_handler == SIG_IGN) return;
    struct sigaction fatal {};
    fatal.sa_handler = SIG_DFL;
    sigaction(signal, &fatal, nullptr);
    if (sent) raise(signal);
  }
}

static const void* instruction_of([[maybe_unused]] void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  Sentence s;
  s << "host code reads or writes device memory: address ";
  s.address(address) << " is ";
  if (info->si_code > 0 && describe_host_access(address, s)) {
    s << "; copy it with cudaMemcpy, or allocate it with cudaMallocManaged";
    // The program's own instruction brought us here, so that nothing of the C library is half done.
    report_at(instruction_of(context), std::string(s.text()).c_str());
    std::exit(1);
  }
  pass_on(signal, info, context);
  errno = saved_errno;
}

void watch_host_access() {
  static const bool once = [] {
    sigaction(SIGSEGV, nullptr, &former);  // before the handler can be called
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSEGV, &action, nullptr) == 0;
  }();
  static_cast<void>(once);
}

}  // namespace ridge::lab
