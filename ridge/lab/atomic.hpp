// CUDA's <cuda/atomic>: cuda::atomic and cuda::atomic_ref are the standard's, with a scope, minimum and maximum, and
// loops that wait on them let the block's other threads run.
#pragma once
#include <ridge/lab/poll.hpp>
#include <ridge/lab/thread_scope.hpp>
#include <ridge/simt/simt.hpp>

#include <atomic>

namespace ridge::lab {

// What both add to `Base`, a std::atomic or std::atomic_ref of T.
template <class T, class Base> struct Looking : Base {
  using Base::Base;
  using Base::operator=;
  using Order = std::memory_order;
  static constexpr Order strict = std::memory_order_seq_cst;

  T load(Order order = strict) const noexcept {
    looked();
    return Base::load(order);
  }
  operator T() const noexcept { return load(); }
  T exchange(T value, Order order = strict) noexcept {
    looked();
    return Base::exchange(value, order);
  }
  template <class... O> bool compare_exchange_weak(T& expected, T value, O... orders) noexcept {
    return changed(Base::compare_exchange_weak(expected, value, orders...));
  }
  template <class... O> bool compare_exchange_strong(T& expected, T value, O... orders) noexcept {
    return changed(Base::compare_exchange_strong(expected, value, orders...));
  }
  T fetch_min(T value, Order order = strict) noexcept {
    return update([value](T old) { return value < old ? value : old; }, order);
  }
  T fetch_max(T value, Order order = strict) noexcept {
    return update([value](T old) { return old < value ? value : old; }, order);
  }

 private:
  static bool changed(bool yes) {
    if (!yes) looked();
    return yes;
  }
  template <class Next> T update(Next next, Order order) noexcept {
    T old = Base::load(std::memory_order_relaxed);
    while (!Base::compare_exchange_weak(old, next(old), order, std::memory_order_relaxed)) {}
    return old;
  }
};

}  // namespace ridge::lab

namespace cuda {

template <class T, thread_scope Scope = thread_scope_system> struct atomic : ridge::lab::Looking<T, ::std::atomic<T>> {
  using ridge::lab::Looking<T, ::std::atomic<T>>::Looking;
  using ridge::lab::Looking<T, ::std::atomic<T>>::operator=;
  constexpr atomic() noexcept = default;
};

template <class T, thread_scope Scope = thread_scope_system>
struct atomic_ref : ridge::lab::Looking<T, ::std::atomic_ref<T>> {
  using ridge::lab::Looking<T, ::std::atomic_ref<T>>::Looking;
  using ridge::lab::Looking<T, ::std::atomic_ref<T>>::operator=;
};

inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) { __threadfence(); }

namespace std {
template <class T> using atomic = cuda::atomic<T>;
template <class T> using atomic_ref = cuda::atomic_ref<T>;
inline void atomic_thread_fence(memory_order order) { cuda::atomic_thread_fence(order); }
}  // namespace std

}  // namespace cuda
