// A fast lookup of the calling OS thread's worker, because every barrier needs it.
//
// A plain thread_local would cost a call of __tls_get_addr: libridge is a shared library that Python opens at run time,
// and its shared arrays are too large for the initial-exec model. So a small table, indexed by the thread pointer, is
// read first. (Deriving the worker from the stack pointer is not faster: the next stack pointer would then depend on
// this one through a chain of loads, and switches could not overlap.)
#pragma once
#include <ridge/simt/runtime/worker.hpp>

#include <mutex>

namespace ridge::simt {

struct Announced {
  std::atomic<std::uintptr_t> thread{0};
  std::atomic<Worker*> worker{nullptr};
};
constexpr std::size_t announced_slots = 1024;
[[gnu::visibility("hidden")]] extern Announced announced[announced_slots];

// Workers announce themselves one by one, or two might find the same free memory. A fork waits for the one that does
// so: it also holds the C library's lock of loaded modules, which a forked child would find locked for ever.
[[gnu::visibility("hidden")]] extern std::mutex announcing;

// Makes this the worker of the OS thread; false if there is no memory for the kernels' thread-local variables.
bool announce_worker(Worker&);
Worker* worker_or_null();  // for threads that may have no worker

inline std::uintptr_t thread_pointer() { return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()); }
inline Announced& announced_for(std::uintptr_t thread) { return announced[(thread >> 12) % announced_slots]; }

inline Worker& here() {
  const std::uintptr_t thread = thread_pointer();
  const Announced& slot = announced_for(thread);
  if (slot.thread.load(std::memory_order_relaxed) == thread) [[likely]]
    return *slot.worker.load(std::memory_order_relaxed);
  return *worker_or_null();
}

}  // namespace ridge::simt
