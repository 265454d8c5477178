// Work of the library's without the GIL, which Ctrl-C ends.
#pragma once
#include "errors.hpp"

#include <string_view>

namespace ridge_python {

// Refuses a call of a signal's handler that runs while an operator of the same thread waits: that one holds the CPU.
void refuse_in_handler(std::string_view op);

class Unlocked {
 public:
  explicit Unlocked(bool on_cpu);
  ~Unlocked();  // with the GIL again
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* released_;
  bool asks_;
  long long next_;  // when signals are looked for again, in the steady clock's ticks
  static int look_for_signals(void* self);
};

// work() gives a ridge_status, and calls nothing of Python's. On the CPU, the main thread looks for signals meanwhile,
// and what their handlers raise ends the work.
template <class F> void unlocked(bool on_cpu, F&& work) {
  ridge_status status = RIDGE_OK;
  {
    const Unlocked without_gil(on_cpu);
    status = work();
  }
  if (PyErr_Occurred()) throw Raised{};  // a signal's handler has raised it
  check(status);
}

}  // namespace ridge_python
