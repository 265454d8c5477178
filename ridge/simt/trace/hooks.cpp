// The functions that a traced kernel calls: -fsanitize=thread makes g++ report every access to memory, and
// -fsanitize-coverage=trace-pc,trace-cmp every basic block and comparison. The program is linked without the
// sanitizers' own libraries; these functions replace theirs.
//
// The hook's return address, which is that of the code after the call, identifies the instruction.
#include <ridge/simt/trace/hooks.hpp>

#include <ridge/simt/runtime/here.hpp>

#include <bit>
#include <cstring>

namespace ridge::simt::trace {

// One block runs at a time, on one worker (observer.hpp).
static std::atomic<Recorder*> recorder{nullptr};
static std::atomic<std::uintptr_t> heard{0};  // the OS thread that is recorded

void listen(Recorder* r) {
  heard = r ? thread_pointer() : 0;
  recorder = r;
}

Listener::Listener()
    : recorder_(heard.load(std::memory_order_relaxed) == thread_pointer() ? recorder.load(std::memory_order_relaxed)
                                                                          : nullptr) {
  if (recorder_) recorder_->interruptible(false);
}

static inline void report(const volatile void* p, int bytes, Kind kind, const void* pc) {
  if (const Listener r; r) r->access(reinterpret_cast<Address>(p), bytes, kind, reinterpret_cast<Address>(pc));
}
static inline void report_structure(const volatile void* p, std::size_t bytes, Kind kind, const void* pc) {
  if (const Listener r; r)
    r->access_structure(reinterpret_cast<Address>(p), bytes, kind, reinterpret_cast<Address>(pc));
}

}  // namespace ridge::simt::trace

namespace trace = ridge::simt::trace;
using trace::Kind;

// A macro, because __builtin_return_address refers to the function that contains it.
#define HERE __builtin_return_address(0)
#define HOOK extern "C" __attribute__((visibility("default")))

// ---- accesses ----------------------------------------------------------------------------------------------------

#define RIDGE_HOOKS_OF_SIZE(n)                                                           \
  HOOK void __tsan_read##n(void* p) { trace::report(p, n, Kind::load, HERE); }           \
  HOOK void __tsan_write##n(void* p) { trace::report(p, n, Kind::store, HERE); }         \
  HOOK void __tsan_unaligned_read##n(void* p) { trace::report(p, n, Kind::load, HERE); } \
  HOOK void __tsan_unaligned_write##n(void* p) { trace::report(p, n, Kind::store, HERE); }
RIDGE_HOOKS_OF_SIZE(1)
RIDGE_HOOKS_OF_SIZE(2)
RIDGE_HOOKS_OF_SIZE(4)
RIDGE_HOOKS_OF_SIZE(8)
RIDGE_HOOKS_OF_SIZE(16)
HOOK void __tsan_read_range(void* p, std::size_t bytes) { trace::report_structure(p, bytes, Kind::load, HERE); }
HOOK void __tsan_write_range(void* p, std::size_t bytes) { trace::report_structure(p, bytes, Kind::store, HERE); }
HOOK void __tsan_vptr_update(void**, void*) {}
HOOK void __tsan_init() {}

// ---- what a kernel asks the C library for: its calls have these names (ridge/lab/traced_memory.hpp) ----------------

// As wide as one access where it can be one, as nvcc would have it.
static inline void report_copy(const void* p, std::size_t bytes, Kind kind, const void* pc) {
  const bool is_one = bytes <= 16 && std::has_single_bit(bytes) && reinterpret_cast<trace::Address>(p) % bytes == 0;
  if (is_one) trace::report(p, static_cast<int>(bytes), kind, pc);
  else trace::report_structure(p, bytes, kind, pc);
}

HOOK void* ridge_traced_memset(void* p, int value, std::size_t bytes) {
  report_copy(p, bytes, Kind::store, HERE);
  return std::memset(p, value, bytes);
}
HOOK void* ridge_traced_memcpy(void* to, const void* from, std::size_t bytes) {
  report_copy(from, bytes, Kind::load, HERE);
  report_copy(to, bytes, Kind::store, HERE);
  return std::memcpy(to, from, bytes);
}
HOOK void* ridge_traced_memmove(void* to, const void* from, std::size_t bytes) {
  report_copy(from, bytes, Kind::load, HERE);
  report_copy(to, bytes, Kind::store, HERE);
  return std::memmove(to, from, bytes);
}

// ---- atomics: the hook also does the operation -------------------------------------------------------------------
// g++ adds floats in a loop that begins with a plain atomic load; only the exchange that ends the loop is counted.

#define RIDGE_ATOMIC_UPDATE(bits, T, name, builtin)                  \
  HOOK T __tsan_atomic##bits##_##name(volatile T* p, T value, int) { \
    trace::report(p, sizeof(T), Kind::atomic, HERE);                 \
    return builtin(p, value, __ATOMIC_SEQ_CST);                      \
  }
#define RIDGE_ATOMIC_EXCHANGE(bits, T, name)                                                           \
  HOOK int __tsan_atomic##bits##_##name(volatile T* p, T* expected, T value, int, int) {               \
    trace::report(p, sizeof(T), Kind::atomic, HERE);                                                   \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define RIDGE_ATOMICS_OF_SIZE(bits, T)                                                                         \
  HOOK T __tsan_atomic##bits##_load(const volatile T* p, int) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); } \
  HOOK void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                         \
    trace::report(p, sizeof(T), Kind::atomic, HERE);                                                           \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                              \
  }                                                                                                            \
  RIDGE_ATOMIC_UPDATE(bits, T, exchange, __atomic_exchange_n)                                                  \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                                  \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                                  \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                                  \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                                    \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                                  \
  RIDGE_ATOMIC_UPDATE(bits, T, fetch_nand, __atomic_fetch_nand)                                                \
  RIDGE_ATOMIC_EXCHANGE(bits, T, compare_exchange_strong)                                                      \
  RIDGE_ATOMIC_EXCHANGE(bits, T, compare_exchange_weak)                                                        \
  HOOK T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {            \
    trace::report(p, sizeof(T), Kind::atomic, HERE);                                                           \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);               \
    return expected;                                                                                           \
  }
RIDGE_ATOMICS_OF_SIZE(8, std::uint8_t)
RIDGE_ATOMICS_OF_SIZE(16, std::uint16_t)
RIDGE_ATOMICS_OF_SIZE(32, std::uint32_t)
RIDGE_ATOMICS_OF_SIZE(64, std::uint64_t)
HOOK void __tsan_atomic_thread_fence(int) {
  if (const trace::Listener r; r) r->fence();
}
HOOK void __tsan_atomic_signal_fence(int) {}

// ---- control flow ------------------------------------------------------------------------------------------------

HOOK void __tsan_func_entry(void*) {
  if (const trace::Listener r; r) r->enter_function();
}
HOOK void __tsan_func_exit() {
  if (const trace::Listener r; r) r->leave_function();
}
HOOK void __sanitizer_cov_trace_pc() {
  if (const trace::Listener r; r) r->enter_block(reinterpret_cast<trace::Address>(HERE));
}

#define RIDGE_COMPARISON(name, ...)                                                     \
  HOOK void __sanitizer_cov_trace_##name(__VA_ARGS__) {                                 \
    if (const trace::Listener r; r) r->compare(reinterpret_cast<trace::Address>(HERE)); \
  }
RIDGE_COMPARISON(cmp1, std::uint8_t, std::uint8_t)
RIDGE_COMPARISON(cmp2, std::uint16_t, std::uint16_t)
RIDGE_COMPARISON(cmp4, std::uint32_t, std::uint32_t)
RIDGE_COMPARISON(cmp8, std::uint64_t, std::uint64_t)
RIDGE_COMPARISON(const_cmp1, std::uint8_t, std::uint8_t)
RIDGE_COMPARISON(const_cmp2, std::uint16_t, std::uint16_t)
RIDGE_COMPARISON(const_cmp4, std::uint32_t, std::uint32_t)
RIDGE_COMPARISON(const_cmp8, std::uint64_t, std::uint64_t)
RIDGE_COMPARISON(cmpf, float, float)
RIDGE_COMPARISON(cmpd, double, double)
RIDGE_COMPARISON(switch, std::uint64_t, void*)
