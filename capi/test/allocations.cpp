// In a file of its own, because g++ reports free() as a mismatch of new where these are inlined.
#include "allocations.hpp"

#include <cstdlib>
#include <new>

thread_local long allocations = 0;

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* data = operator new(bytes, std::nothrow)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { std::free(data); }
