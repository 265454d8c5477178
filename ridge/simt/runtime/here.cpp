#include <ridge/simt/runtime/here.hpp>

#include <link.h>
#include <sys/mman.h>

namespace ridge::simt {

Announced announced[announced_slots];
std::mutex announcing;

static constinit thread_local Worker* mine = nullptr;

// A library that was opened at run time allocates its thread-local variables (half a megabyte of shared arrays) when a
// thread first uses one; if that fails, the C library ends the process. So a worker first checks that there is room.
static bool thread_locals_fit() {
  std::size_t bytes = 64 << 10;  // the allocator's own memory
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

// A slot always belongs to the first thread that takes it, because workers are never destroyed. After a fork the
// child's threads may have the same thread pointers as the parent's: then the slot is the new worker's.
bool announce_worker(Worker& w) {
  std::lock_guard hold(announcing);
  if (!thread_locals_fit()) return false;
  mine = &w;
  Announced& slot = announced_for(thread_pointer());
  std::uintptr_t nobody = 0;
  if (slot.thread.compare_exchange_strong(nobody, thread_pointer()) || nobody == thread_pointer()) slot.worker = &w;
  return true;
}

Worker* worker_or_null() { return mine; }

}  // namespace ridge::simt
