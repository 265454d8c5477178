// CUDA's <cuda/barrier>: cuda::barrier, and copies that it waits for.
#pragma once
#include <ridge/lab/aligned_size.hpp>
#include <ridge/lab/copies.hpp>
#include <ridge/lab/poll.hpp>
#include <ridge/lab/thread_scope.hpp>
#include <ridge/simt/simt.hpp>

#include <new>

namespace ridge::lab {

struct NoCompletion {
  void operator()() const {}
};

}  // namespace ridge::lab

namespace cuda {

template <thread_scope Scope, class Completion = ridge::lab::NoCompletion> class barrier {
 public:
  // The phase that a thread arrived in.
  class arrival_token {
    friend barrier;
    explicit arrival_token(unsigned phase) : phase_(phase) {}
    unsigned phase_;
  };

  barrier() = default;
  explicit barrier(::std::ptrdiff_t threads, Completion completion = {})
      : threads_(static_cast<int>(threads)), missing_(static_cast<int>(threads)), completion_(completion) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  friend void init(barrier* b, ::std::ptrdiff_t threads) { new (b) barrier(threads); }
  friend void init(barrier* b, ::std::ptrdiff_t threads, Completion completion) {
    new (b) barrier(threads, completion);
  }
  static constexpr ::std::ptrdiff_t max() { return (1 << 20) - 1; }

  [[nodiscard]] arrival_token arrive(::std::ptrdiff_t threads = 1) {
    const unsigned phase = phase_.load(::std::memory_order_relaxed);
    const int left = missing_.fetch_sub(static_cast<int>(threads), ::std::memory_order_acq_rel);
    if (left < threads) throw ::std::runtime_error("cuda::barrier: more threads arrived than it was initialised for");
    if (left == threads) complete();
    return arrival_token(phase);
  }
  void wait(arrival_token&& token) const { wait_while(token.phase_); }
  void wait_parity(bool parity) const {
    while ((phase_.load(::std::memory_order_acquire) & 1) == unsigned{parity}) ridge::lab::let_others_run();
  }
  void arrive_and_wait() { wait(arrive()); }
  void arrive_and_drop() {
    threads_.fetch_sub(1, ::std::memory_order_relaxed);
    (void)arrive();
  }
  bool try_wait(arrival_token&& token) const {
    if (phase_.load(::std::memory_order_acquire) != token.phase_) return true;
    ridge::lab::let_others_run();
    return phase_.load(::std::memory_order_acquire) != token.phase_;
  }
  bool try_wait_parity(bool parity) const {
    ridge::lab::let_others_run();
    return (phase_.load(::std::memory_order_acquire) & 1) != unsigned{parity};
  }

  // The current phase is not complete before this copy is done.
  void attach(const ridge::lab::Copy& copy) {
    if constexpr (Scope == thread_scope_block) ridge::lab::attach_copy(copies_, copy);
    else ridge::lab::do_copy(copy);  // blocks of other OS threads may share it
  }

 private:
  void complete() {
    for (ridge::lab::Copy copy; ridge::lab::detach_copy(copies_, copy);) ridge::lab::do_copy(copy);
    completion_();
    missing_.store(threads_.load(::std::memory_order_relaxed), ::std::memory_order_relaxed);
    phase_.fetch_add(1, ::std::memory_order_release);
  }
  void wait_while(unsigned phase) const {
    while (phase_.load(::std::memory_order_acquire) == phase) ridge::lab::let_others_run();
  }

  ::std::atomic<int> threads_{0}, missing_{0};
  ::std::atomic<unsigned> phase_{0};
  void* copies_ = nullptr;
  [[no_unique_address]] Completion completion_{};
};

// Copies that the barrier's phase waits for. Size: bytes, a number or an aligned_size_t.
template <class Group, class T, class Size, thread_scope Scope, class Completion>
void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes, barrier<Scope, Completion>& b,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::lab::share_copy(to, from, static_cast<::std::size_t>(bytes), ridge::lab::alignment_of<Size>,
                         static_cast<::std::size_t>(group.thread_rank()), static_cast<::std::size_t>(group.size()), at,
                         [&](const ridge::lab::Copy& copy) { b.attach(copy); });
}
template <class Group, class Size, thread_scope Scope, class Completion>
void memcpy_async(const Group& group, void* to, const void* from, const Size& bytes, barrier<Scope, Completion>& b,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  memcpy_async(group, static_cast<char*>(to), static_cast<const char*>(from), bytes, b, at);
}
template <class T, class Size, thread_scope Scope, class Completion>
void memcpy_async(T* to, const T* from, const Size& bytes, barrier<Scope, Completion>& b,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::lab::share_copy(to, from, static_cast<::std::size_t>(bytes), ridge::lab::alignment_of<Size>, 0, 1, at,
                         [&](const ridge::lab::Copy& copy) { b.attach(copy); });
}

namespace std {
template <class Completion = ridge::lab::NoCompletion> using barrier = cuda::barrier<thread_scope_system, Completion>;
}  // namespace std

}  // namespace cuda
