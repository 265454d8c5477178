// Faults inside a kernel (stack overflow, a wild pointer, a failed assert) and the watchdog's stop: a signal handler
// abandons the block, and its worker continues on the home stack, where it reports.
//
// Ridge is a library, so handlers are installed only while kernels run, faults of other threads go to the former
// handlers, and these are restored afterwards. A program may install a handler of its own over ours while kernels run,
// and call ours from it from then on. Under a sanitizer, whose own reports are better, these handlers are not
// installed.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

// Exists while a job runs; only one at a time.
class FaultHandlers {
 public:
  FaultHandlers();
  ~FaultHandlers();
  FaultHandlers(const FaultHandlers&) = delete;
  FaultHandlers& operator=(const FaultHandlers&) = delete;

  // Makes the worker abandon its block, if it still runs one.
  void stop(Worker&);

 private:
  bool stopping_ = false;
};

// Called at the end of a section that must not be interrupted: abandons the block if stop() was called meanwhile.
void heed_stop(Worker&);

// Sets up the calling OS thread: its alternate stack, and a signal mask that allows the signals of the handlers above
// and keeps the program's own signals out of fibers.
void prepare_worker_signals(Worker&);
// Registers a worker with the handlers. Workers live as long as the process.
void register_worker(Worker&);
// Called in the child of a fork, which has no workers and no launch: removes the handlers of another thread's launch.
void forget_workers();
// Called on the home stack after a handler left a block: unblocks the handler's signal.
void after_fault(const Worker&);

}  // namespace ridge::simt
