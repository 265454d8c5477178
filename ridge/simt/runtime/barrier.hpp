// What the runtime tells the block's barrier.
#pragma once
#include <ridge/simt/runtime/worker.hpp>

namespace ridge::simt {

// Whether a barrier waits for threads that have returned. Devices from Volta on let them pass, and so do users' files
// in the lab. Ridge's own kernels keep the stricter rule, which holds on every device: a thread that is missing is an
// error.
#ifdef RIDGE_SIMT_RETURNED_PASS
constexpr bool returned_threads_pass = true;
#else
constexpr bool returned_threads_pass = false;
#endif

// A thread has returned, and is counted as such: it may have been the one that others wait for.
void thread_returned(Worker&);

}  // namespace ridge::simt
