#include "unlocked.hpp"

#include <chrono>

namespace ridge_python {

static thread_local bool handling = false;  // signals, in the middle of an operator

static bool on_main_thread() { return gettid() == getpid(); }  // where alone Python handles signals

static long long now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
constexpr auto pause_between =
    std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::milliseconds(50));

void refuse_in_handler(std::string_view op) {
  if (handling)
    raise(PyExc_RuntimeError, std::string(op) +
                                  ": the call comes from a signal's handler in the middle of another operator; it "
                                  "must come when that one is done");
}

// The library asks on this thread, and it asks often: the GIL is taken some twenty times a second.
int Unlocked::look_for_signals(void* self) {
  Unlocked& unlocked = *static_cast<Unlocked*>(self);
  if (now() < unlocked.next_) return 0;
  python(PyEval_RestoreThread, unlocked.released_);
  handling = true;
  const int raised = python(PyErr_CheckSignals);
  handling = false;
  unlocked.released_ = PyEval_SaveThread();
  unlocked.next_ = now() + pause_between.count();
  return raised;
}

Unlocked::Unlocked(bool on_cpu) : asks_(on_cpu && on_main_thread()), next_(now() + pause_between.count()) {
  if (asks_) ridge_set_interrupt(look_for_signals, this);
  released_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  python(PyEval_RestoreThread, released_);
  if (asks_) ridge_set_interrupt(nullptr, nullptr);
}

}  // namespace ridge_python
