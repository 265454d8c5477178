// These functions replace the C library's in the whole process, libridge and libstdc++ included. The C library's own
// calls (for the stacks of its threads, for example) use other names; pthread_create fails as a whole.
#include <ridge/simt/test/inject.hpp>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

namespace simt_test {
namespace {

std::atomic<int> calls{0}, wanted{0};  // wanted: the call that fails; 0: none
std::atomic<bool> all_after{false};
std::atomic<const char*> failed{""};

bool fails(const char* call) {
  const int step = wanted;
  if (!step) return false;
  const int number = ++calls;
  if (number == step) failed = call;
  return number == step || (all_after && number > step);
}

template <class F> F* next(const char* name) { return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name)); }
const auto real_mmap = next<decltype(mmap)>("mmap");
const auto real_mprotect = next<decltype(mprotect)>("mprotect");
const auto real_posix_memalign = next<decltype(posix_memalign)>("posix_memalign");
const auto real_pthread_create = next<decltype(pthread_create)>("pthread_create");

}  // namespace

void inject(int step, bool and_all_after) {
  calls = 0;
  failed = "";
  all_after = and_all_after;
  wanted = step;
}

const char* stop_injecting() {
  wanted = 0;
  return failed;
}

}  // namespace simt_test

using simt_test::fails;

extern "C" {
void* __libc_malloc(std::size_t);

#define INSTEAD __attribute__((visibility("default")))

INSTEAD void* malloc(std::size_t bytes) {
  if (!fails("malloc")) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

INSTEAD int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  return fails("posix_memalign") ? ENOMEM : simt_test::real_posix_memalign(p, alignment, bytes);
}

INSTEAD void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (!fails("mmap")) return simt_test::real_mmap(at, bytes, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

INSTEAD int mprotect(void* at, std::size_t bytes, int protection) noexcept {
  if (!fails("mprotect")) return simt_test::real_mprotect(at, bytes, protection);
  errno = ENOMEM;
  return -1;
}

INSTEAD int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*),
                           void* argument) noexcept {
  return fails("pthread_create") ? EAGAIN : simt_test::real_pthread_create(thread, attributes, main, argument);
}
}
