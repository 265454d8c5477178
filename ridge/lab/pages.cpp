#include <ridge/lab/pages.hpp>

#include <cstdlib>

#include <sys/mman.h>

namespace ridge::lab {

// Not reserved: a program may take a device's 141 GB and use a part of them.
constexpr int fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
constexpr std::size_t alignment = 256;  // as cudaMalloc promises

void* take_host_memory(std::size_t bytes) {
  void* p = nullptr;
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
}
void return_host_memory(void* p) { std::free(p); }

void* take_pages(std::size_t bytes) {
  if constexpr (!pages_close) return take_host_memory(bytes);
  void* p = mmap(nullptr, whole_pages(bytes) + guard_bytes, PROT_NONE, fresh, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

// mprotect fails only where the process has no mapping left, and then the next access says so.
void open_pages(void* p, std::size_t bytes) {
  if constexpr (pages_close) mprotect(p, whole_pages(bytes), PROT_READ | PROT_WRITE);
}
void close_pages(void* p, std::size_t bytes) {
  if constexpr (pages_close) mprotect(p, whole_pages(bytes), PROT_NONE);
}

void empty_pages(void* p, std::size_t bytes) {
  if constexpr (pages_close) mmap(p, whole_pages(bytes), PROT_NONE, fresh | MAP_FIXED, -1, 0);
  else return_host_memory(p);  // the sanitizer keeps it unused for a while
}
void return_pages(void* p, std::size_t bytes) {
  if constexpr (pages_close) munmap(p, whole_pages(bytes) + guard_bytes);
}

}  // namespace ridge::lab
