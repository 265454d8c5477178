#include <ridge/simt/runtime/here.hpp>

namespace ridge::simt {

Announced announced[announced_slots];

static constinit thread_local Worker* mine = nullptr;

// A slot belongs to the first thread that takes it, for good, as workers live for good. After a fork the child's
// threads may have the pointers of the parent's: then the slot is the new worker's.
void announce_worker(Worker& w) {
  mine = &w;
  Announced& slot = announced_for(thread_pointer());
  std::uintptr_t nobody = 0;
  if (slot.thread.compare_exchange_strong(nobody, thread_pointer()) || nobody == thread_pointer()) slot.worker = &w;
}

Worker* worker_or_null() { return mine; }

}  // namespace ridge::simt
