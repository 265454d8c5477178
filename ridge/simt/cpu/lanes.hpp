// Barriers and warp collectives for g++: CUDA's spelling, and the three primitives that tile<N> stands on.
#pragma once
#include <ridge/simt/cpu/runtime.hpp>

#include <atomic>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {

inline int warp_width() { return warpSize; }

using lane_word = std::uint64_t;  // the word that one collective carries

template <int Width> lane_word shuffle_word(lane_mask mask, lane_word word, Source source, int operand, where at) {
  return shuffle(mask, word, source, operand, Width, at);
}

template <class T> T cuda_shuffle(lane_mask mask, T value, Source source, int operand, int width, where at) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "__shfl_*_sync moves 4- and 8-byte arithmetic types; tile<N>::shfl moves any type");
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = shuffle(mask, word, source, operand, width, at);
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt

// ---- block barriers ----------------------------------------------------------------------------------------------
inline void __syncthreads(ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::simt::detail::barrier(at);
}
inline int __syncthreads_count(int predicate, ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::barrier_vote(ridge::simt::detail::Vote::count, predicate != 0, at);
}
inline int __syncthreads_and(int predicate, ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::barrier_vote(ridge::simt::detail::Vote::all, predicate != 0, at);
}
inline int __syncthreads_or(int predicate, ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::barrier_vote(ridge::simt::detail::Vote::any, predicate != 0, at);
}

// ---- warp collectives --------------------------------------------------------------------------------------------
inline void __syncwarp(ridge::simt::lane_mask mask = ~ridge::simt::lane_mask(0),
                       ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  ridge::simt::detail::sync_warp(mask, at);
}
inline ridge::simt::lane_mask __ballot_sync(ridge::simt::lane_mask mask, int predicate,
                                            ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::ballot(mask, predicate != 0, at);
}
inline int __any_sync(ridge::simt::lane_mask mask, int predicate,
                      ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::ballot(mask, predicate != 0, at) != 0;
}
inline int __all_sync(ridge::simt::lane_mask mask, int predicate,
                      ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::ballot(mask, predicate == 0, at) == 0;
}
template <class T>
T __shfl_sync(ridge::simt::lane_mask mask, T value, int source, int width = warpSize,
              ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::cuda_shuffle(mask, value, ridge::simt::detail::Source::index, source, width, at);
}
template <class T>
T __shfl_xor_sync(ridge::simt::lane_mask mask, T value, int bits, int width = warpSize,
                  ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::cuda_shuffle(mask, value, ridge::simt::detail::Source::flip, bits, width, at);
}
template <class T>
T __shfl_up_sync(ridge::simt::lane_mask mask, T value, unsigned distance, int width = warpSize,
                 ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::cuda_shuffle(mask, value, ridge::simt::detail::Source::up, static_cast<int>(distance),
                                           width, at);
}
template <class T>
T __shfl_down_sync(ridge::simt::lane_mask mask, T value, unsigned distance, int width = warpSize,
                   ridge::simt::detail::where at = ridge::simt::detail::where::current()) {
  return ridge::simt::detail::cuda_shuffle(mask, value, ridge::simt::detail::Source::down, static_cast<int>(distance),
                                           width, at);
}

// ---- fences ------------------------------------------------------------------------------------------------------
// ThreadSanitizer does not model fences. Here every fence modifies one atomic, which orders accesses before a fence
// with those after every later fence: so a reader of fenced data needs its own __threadfence(), as in CUDA.
#ifdef RIDGE_SIMT_RACE
namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {
inline std::atomic<unsigned> fences{0};
}
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
inline void __threadfence() { ridge::simt::detail::fences.fetch_add(1, std::memory_order_acq_rel); }
#else
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
#endif
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }

inline void __nanosleep(unsigned) { ridge::simt::detail::yield(); }
