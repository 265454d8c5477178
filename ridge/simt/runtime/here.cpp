#include <ridge/simt/runtime/here.hpp>

#include <mutex>

#include <link.h>
#include <sys/mman.h>

namespace ridge::simt {

Announced announced[announced_slots];

static constinit thread_local Worker* mine = nullptr;

// A library that was opened at run time allocates its thread-local variables (half a megabyte of shared arrays) when a
// thread first uses one, and where that fails the C library ends the process. So a worker looks first.
static bool thread_locals_fit() {
  std::size_t bytes = 64 << 10;  // the allocator's own
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* sum) {
        for (int i = 0; i < module->dlpi_phnum && !module->dlpi_tls_data; ++i)
          if (module->dlpi_phdr[i].p_type == PT_TLS) *static_cast<std::size_t*>(sum) += module->dlpi_phdr[i].p_memsz;
        return 0;
      },
      &bytes);
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  munmap(p, bytes);
  return true;
}

// A slot belongs to the first thread that takes it, for good, as workers live for good. After a fork the child's
// threads may have the pointers of the parent's: then the slot is the new worker's.
bool announce_worker(Worker& w) {
  static std::mutex one_by_one;  // what one worker found must not be another's
  std::lock_guard hold(one_by_one);
  if (!thread_locals_fit()) return false;
  mine = &w;
  Announced& slot = announced_for(thread_pointer());
  std::uintptr_t nobody = 0;
  if (slot.thread.compare_exchange_strong(nobody, thread_pointer()) || nobody == thread_pointer()) slot.worker = &w;
  return true;
}

Worker* worker_or_null() { return mine; }

}  // namespace ridge::simt
