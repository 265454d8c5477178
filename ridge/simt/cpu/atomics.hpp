// CUDA's atomics for g++: relaxed, as on the device, and for CUDA's types, so that code which compiles here compiles
// with nvcc too. (size_t is unsigned long, which CUDA refuses: cast it to unsigned long long.)
#pragma once
#include <ridge/simt/cpu/names.hpp>

#include <atomic>
#include <concepts>
#include <type_traits>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {

template <class T, class... Options>
concept one_of = (std::same_as<T, Options> || ...);

template <class T>
concept atomic_addend = one_of<T, int, unsigned, unsigned long long, float, double>;
template <class T>
concept atomic_word = one_of<T, int, unsigned, unsigned long long>;
template <class T>
concept atomic_ordered = one_of<T, int, unsigned, long long, unsigned long long>;
template <class T>
concept atomic_movable = one_of<T, int, unsigned, unsigned long long, float>;

// Everything here is inlined, and the loop is none of the library's functions: of an atomic in a function of its own a
// trace would not know the kernel's line.

// Replaces *p by next(*p) atomically; returns the old value.
template <class T, class Next> __forceinline__ T atomic_update(T* p, Next next) {
  T &cell = *p, old, changed;
  __atomic_load(&cell, &old, __ATOMIC_RELAXED);
  do changed = next(old);
  while (!__atomic_compare_exchange(&cell, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt

template <ridge::simt::detail::atomic_addend T> __forceinline__ T atomicAdd(T* p, std::type_identity_t<T> value) {
  if constexpr (std::is_floating_point_v<T>)
    return ridge::simt::detail::atomic_update(p, [value](T old) { return old + value; });
  else return std::atomic_ref<T>(*p).fetch_add(value, std::memory_order_relaxed);
}
template <ridge::simt::detail::one_of<int, unsigned> T>
__forceinline__ T atomicSub(T* p, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*p).fetch_sub(value, std::memory_order_relaxed);
}
template <ridge::simt::detail::atomic_movable T> __forceinline__ T atomicExch(T* p, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*p).exchange(value, std::memory_order_relaxed);
}
template <ridge::simt::detail::one_of<int, unsigned, unsigned long long, unsigned short> T>
__forceinline__ T atomicCAS(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  return expected;
}
template <ridge::simt::detail::atomic_ordered T> __forceinline__ T atomicMin(T* p, std::type_identity_t<T> value) {
  return ridge::simt::detail::atomic_update(p, [value](T old) { return value < old ? value : old; });
}
template <ridge::simt::detail::atomic_ordered T> __forceinline__ T atomicMax(T* p, std::type_identity_t<T> value) {
  return ridge::simt::detail::atomic_update(p, [value](T old) { return old < value ? value : old; });
}
template <ridge::simt::detail::atomic_word T> __forceinline__ T atomicAnd(T* p, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*p).fetch_and(value, std::memory_order_relaxed);
}
template <ridge::simt::detail::atomic_word T> __forceinline__ T atomicOr(T* p, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*p).fetch_or(value, std::memory_order_relaxed);
}
template <ridge::simt::detail::atomic_word T> __forceinline__ T atomicXor(T* p, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*p).fetch_xor(value, std::memory_order_relaxed);
}
// Wrap around: atomicInc counts up to a limit and back to 0, atomicDec down to 0 and back to a limit.
__forceinline__ unsigned atomicInc(unsigned* p, unsigned limit) {
  return ridge::simt::detail::atomic_update(p, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}
__forceinline__ unsigned atomicDec(unsigned* p, unsigned limit) {
  return ridge::simt::detail::atomic_update(
      p, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// The block-scoped forms; on the CPU they are the same operations.
template <class T> __forceinline__ T atomicAdd_block(T* p, std::type_identity_t<T> value) {
  return atomicAdd(p, value);
}
template <class T> __forceinline__ T atomicSub_block(T* p, std::type_identity_t<T> value) {
  return atomicSub(p, value);
}
template <class T> __forceinline__ T atomicExch_block(T* p, std::type_identity_t<T> value) {
  return atomicExch(p, value);
}
template <class T> __forceinline__ T atomicMin_block(T* p, std::type_identity_t<T> value) {
  return atomicMin(p, value);
}
template <class T> __forceinline__ T atomicMax_block(T* p, std::type_identity_t<T> value) {
  return atomicMax(p, value);
}
template <class T> __forceinline__ T atomicAnd_block(T* p, std::type_identity_t<T> value) {
  return atomicAnd(p, value);
}
template <class T> __forceinline__ T atomicOr_block(T* p, std::type_identity_t<T> value) { return atomicOr(p, value); }
template <class T> __forceinline__ T atomicXor_block(T* p, std::type_identity_t<T> value) {
  return atomicXor(p, value);
}
template <class T>
__forceinline__ T atomicCAS_block(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomicCAS(p, expected, value);
}
