// CUDA's <cuda/pipeline>: copies in stages, of one thread or of producers and consumers.
#pragma once
#include <ridge/lab/barrier.hpp>

namespace cuda {

enum class pipeline_role { producer, consumer };

// Each stage has two barriers: what is copied into it, and that it is free again.
template <thread_scope Scope, unsigned char Stages> struct pipeline_shared_state {
  struct Stage {
    barrier<Scope> produced, consumed;
  };
  Stage stages[Stages];
  ::std::atomic<unsigned> producers{0};

  pipeline_shared_state() = default;
  pipeline_shared_state(const pipeline_shared_state&) = delete;
  pipeline_shared_state& operator=(const pipeline_shared_state&) = delete;

  void prepare(::std::size_t producer_threads, ::std::size_t consumer_threads) {
    for (Stage& stage : stages) {
      init(&stage.produced, static_cast<::std::ptrdiff_t>(producer_threads));
      init(&stage.consumed, static_cast<::std::ptrdiff_t>(consumer_threads));
    }
  }
};

// Of several threads. A stage's copies are done when its last producer has committed.
template <thread_scope Scope> class pipeline {
 public:
  template <unsigned char Stages>
  explicit pipeline(pipeline_shared_state<Scope, Stages>& state)
      : stages_(reinterpret_cast<char*>(state.stages)), count_(Stages) {}
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void producer_acquire() { stage(head_).consumed.wait_parity(!odd(head_)); }
  void producer_commit() { (void)stage(head_++).produced.arrive(); }
  void consumer_wait() { stage(tail_).produced.wait_parity(odd(tail_)); }
  void consumer_release() { (void)stage(tail_++).consumed.arrive(); }
  bool quit() { return true; }

  void issue(const ridge::lab::Copy& copy) { stage(head_).produced.attach(copy); }

 private:
  using Stage = typename pipeline_shared_state<Scope, 1>::Stage;  // the same for any number of them

  Stage& stage(unsigned step) const { return reinterpret_cast<Stage*>(stages_)[step % count_]; }
  bool odd(unsigned step) const { return step / count_ % 2 != 0; }  // rounds of all stages

  char* stages_;
  unsigned count_, head_ = 0, tail_ = 0;
};

// Of one thread: its groups of copies.
template <> class pipeline<thread_scope_thread> {
 public:
  pipeline() = default;
  pipeline(pipeline&&) = default;
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;

  void producer_acquire() {}
  void producer_commit() {
    ridge::lab::commit_copies();
    ++head_;
  }
  void consumer_wait() {  // for the oldest stage
    if (head_ == tail_) return;
    ridge::lab::wait_copies_prior(head_ - tail_ - 1);
    ++tail_;
  }
  void consumer_wait_prior(::std::size_t prior) {
    ridge::lab::wait_copies_prior(prior);
    tail_ = head_ > prior ? head_ - prior : 0;
  }
  void consumer_release() {}
  bool quit() { return true; }

  void issue(const ridge::lab::Copy& copy) { ridge::lab::queue_copy(copy); }

 private:
  ::std::size_t head_ = 0, tail_ = 0;
};

inline pipeline<thread_scope_thread> make_pipeline() { return {}; }

// Every thread is a producer and a consumer.
template <class Group, thread_scope Scope, unsigned char Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
  if (group.thread_rank() == 0) state->prepare(group.size(), group.size());
  group.sync();
  return pipeline<Scope>(*state);
}
// So many of the group's threads are producers, the others consumers.
template <class Group, thread_scope Scope, unsigned char Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state,
                              ::std::size_t producers) {
  if (group.thread_rank() == 0) state->prepare(producers, group.size() - producers);
  group.sync();
  return pipeline<Scope>(*state);
}
// Each thread says what it is.
template <class Group, thread_scope Scope, unsigned char Stages>
pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state, pipeline_role role) {
  if (group.thread_rank() == 0) state->producers.store(0, ::std::memory_order_relaxed);
  group.sync();
  if (role == pipeline_role::producer) state->producers.fetch_add(1, ::std::memory_order_relaxed);
  group.sync();
  return make_pipeline(group, state, ::std::size_t{state->producers.load(::std::memory_order_relaxed)});
}

template <unsigned char Prior> void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& p) {
  p.consumer_wait_prior(Prior);
}
// The barrier's phase waits for the copies that this thread has issued.
template <thread_scope Scope> void pipeline_producer_commit(pipeline<thread_scope_thread>& p, barrier<Scope>& b) {
  p.producer_commit();
  for (ridge::lab::Copy copy; ridge::lab::take_copy(ridge::lab::committed_groups(), copy);) b.attach(copy);
}

// ---- copies into the stage that is being produced ------------------------------------------------------------------
template <class Group, class T, class Size, thread_scope Scope>
void memcpy_async(const Group& group, T* to, const T* from, const Size& bytes, pipeline<Scope>& p,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::lab::share_copy(to, from, static_cast<::std::size_t>(bytes), ridge::lab::alignment_of<Size>,
                         static_cast<::std::size_t>(group.thread_rank()), static_cast<::std::size_t>(group.size()), at,
                         [&](const ridge::lab::Copy& copy) { p.issue(copy); });
}
template <class Group, class Size, thread_scope Scope>
void memcpy_async(const Group& group, void* to, const void* from, const Size& bytes, pipeline<Scope>& p,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  memcpy_async(group, static_cast<char*>(to), static_cast<const char*>(from), bytes, p, at);
}
template <class T, class Size, thread_scope Scope>
void memcpy_async(T* to, const T* from, const Size& bytes, pipeline<Scope>& p,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::lab::share_copy(to, from, static_cast<::std::size_t>(bytes), ridge::lab::alignment_of<Size>, 0, 1, at,
                         [&](const ridge::lab::Copy& copy) { p.issue(copy); });
}

}  // namespace cuda
