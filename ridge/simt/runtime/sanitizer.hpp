// Notifies the sanitizers about fibers; does nothing in a plain build.
//
// AddressSanitizer must know the current stack. ThreadSanitizer sees every thread of a block as a separate thread, with
// synchronisation only where CUDA has it: the runtime itself is compiled without ThreadSanitizer.
#pragma once
#include <cstddef>

#ifdef __SANITIZE_ADDRESS__
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom_old, std::size_t* size_old);
void __asan_unpoison_memory_region(const volatile void*, std::size_t);
}
#endif
#ifdef RIDGE_SIMT_RACE
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void* __tsan_get_current_fiber();
void __tsan_acquire(void*);
void __tsan_release(void*);
}
#endif

namespace ridge::simt {

#ifdef RIDGE_SIMT_RACE
constexpr bool race_build = true;
#else
constexpr bool race_build = false;
#endif
#ifdef __SANITIZE_ADDRESS__
constexpr bool asan_build = true;
#else
constexpr bool asan_build = false;
#endif
constexpr bool sanitizer_reports_faults = asan_build || race_build;

namespace asan {

inline void leave_for([[maybe_unused]] void** fake, [[maybe_unused]] const void* low, [[maybe_unused]] std::size_t n) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(fake, low, n);
#endif
}
inline void arrived([[maybe_unused]] void* fake) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}
inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] std::size_t n) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(p, n);
#endif
}

}  // namespace asan

namespace tsan {

inline void* create() {
#ifdef RIDGE_SIMT_RACE
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}
inline void destroy([[maybe_unused]] void* fiber) {
#ifdef RIDGE_SIMT_RACE
  __tsan_destroy_fiber(fiber);
#endif
}
inline void* current() {
#ifdef RIDGE_SIMT_RACE
  return __tsan_get_current_fiber();
#else
  return nullptr;
#endif
}
inline void become([[maybe_unused]] void* fiber) {
#ifdef RIDGE_SIMT_RACE
  __tsan_switch_to_fiber(fiber, 1);  // 1: the switch itself orders nothing
#endif
}
// Everything before a release of p happens before everything after an acquire of p.
inline void release([[maybe_unused]] void* p) {
#ifdef RIDGE_SIMT_RACE
  __tsan_release(p);
#endif
}
inline void acquire([[maybe_unused]] void* p) {
#ifdef RIDGE_SIMT_RACE
  __tsan_acquire(p);
#endif
}

}  // namespace tsan
}  // namespace ridge::simt
