// Faults inside a kernel (a stack that overflows, a wild pointer, a failed assert) and the watchdog's stop: a signal
// handler abandons the block and its worker goes on at home, which reports.
//
// Ridge is a library, so handlers are installed only while kernels run, faults of other threads go to whoever had
// installed a handler before, and the former handlers come back afterwards. A program may install a handler of its own
// over them while kernels run, and call them from it ever after. Under a sanitizer its own reports are better, and
// these handlers are not installed.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

// Lives while a job runs. One at a time.
class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();
  FaultHandlers(const FaultHandlers&) = delete;
  FaultHandlers& operator=(const FaultHandlers&) = delete;

  // Has the worker abandon the block that it runs, if it is still running it.
  void stop(Worker&);

 private:
  bool stopping_ = false;
};

// For who was not to be interrupted for a while, and is again: abandons the block if stop() was called meanwhile.
void heed_stop(Worker&);

// For the calling OS thread: its alternate stack, and a signal mask that lets through the handlers above and keeps the
// program's own signals out of fibers.
void prepare_worker_signals(Worker&);
// The handlers know this worker from now on. Workers live as long as the process.
void register_worker(Worker&);
// In the child of a fork there are none, nor a launch: the handlers that another thread's launch had installed go.
void forget_workers();
// At home, after a handler left a block: lets its signal through again.
void after_fault(const Worker&);

}  // namespace ridge::simt
