// tile<N>: N adjacent lanes of a warp and their collectives. N is a power of two, at most the warp width.
//
// Every lane of the tile that has not returned takes part in each call. Any trivially copyable type can be moved. A
// value read from a lane that does not exist or has returned is undefined on a device; on the CPU it is all ones
// (NaN, -1), so that its use is visible.
#pragma once
#include <ridge/simt/backend.hpp>
#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/lanes.hpp>
#else
#include <ridge/simt/gpu/lanes.hpp>
#endif

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

// This thread's rank within its block; warps consist of neighbours in this order.
__device__ __forceinline__ int thread_rank() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

namespace detail {

// Moves a value word by word, because the vendors' shuffles take only arithmetic types.
template <class T, class Move> __device__ __forceinline__ T move_words(T value, Move move) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can move between lanes");
  lane_word words[(sizeof(T) + sizeof(lane_word) - 1) / sizeof(lane_word)] = {};
  memcpy(words, &value, sizeof value);
  RIDGE_UNROLL
  for (lane_word& word : words) word = move(word);
  memcpy(&value, words, sizeof value);
  return value;
}

}  // namespace detail

// Together: whether all tiles of the warp take part in each call instead of this one alone; see tiles<N>.
template <int N = native_warp, bool Together = false> struct tile {
  static_assert(N >= 1 && N <= static_cast<int>(8 * sizeof(lane_mask)) && (N & (N - 1)) == 0,
                "a tile is a power of two of lanes, at most a warp");

  using where = detail::where;

  static __device__ __forceinline__ int size() { return N; }
  static __device__ __forceinline__ int rank() { return thread_rank() % N; }   // which lane of the tile
  static __device__ __forceinline__ int index() { return thread_rank() / N; }  // which tile of the block
  // The tile's lanes as a mask of its warp.
  static __device__ __forceinline__ lane_mask mask() { return whole() << first_lane(); }

  // The value that lane `source` of the tile holds.
  template <class T> __device__ __forceinline__ T shfl(T value, int source, where at = where::current()) const {
    return shuffle(value, detail::Source::index, source, at);
  }
  // The value of the lane whose rank differs in `bits`.
  template <class T> __device__ __forceinline__ T shfl_xor(T value, int bits, where at = where::current()) const {
    return shuffle(value, detail::Source::flip, bits, at);
  }
  // The value of the lane `distance` below or above; a lane without such a neighbour keeps its own value.
  template <class T> __device__ __forceinline__ T shfl_up(T value, int distance, where at = where::current()) const {
    return shuffle(value, detail::Source::up, distance, at);
  }
  template <class T> __device__ __forceinline__ T shfl_down(T value, int distance, where at = where::current()) const {
    return shuffle(value, detail::Source::down, distance, at);
  }

  // Bit r is the predicate of lane r of the tile.
  __device__ __forceinline__ lane_mask ballot(bool predicate, where at = where::current()) const {
    return (detail::ballot(together(), predicate, at) & mask()) >> first_lane();
  }
  __device__ __forceinline__ bool any(bool predicate, where at = where::current()) const {
    return (detail::ballot(together(), predicate, at) & mask()) != 0;
  }
  __device__ __forceinline__ bool all(bool predicate, where at = where::current()) const {
    return (detail::ballot(together(), !predicate, at) & mask()) == 0;
  }
  // Orders the tile's accesses to shared and global memory before the call with those after it.
  __device__ __forceinline__ void sync(where at = where::current()) const { detail::sync_warp(together(), at); }

  // Butterfly reduction by f over the whole tile: every lane gets the result. f must be commutative, so that all agree.
  template <class T, class F> __device__ __forceinline__ T reduce(T value, F f, where at = where::current()) const {
    RIDGE_UNROLL
    for (int distance = N / 2; distance > 0; distance /= 2) value = f(value, shfl_xor(value, distance, at));
    return value;
  }

 private:
  // The lanes that take part in a call.
  static __device__ __forceinline__ lane_mask together() {
    if constexpr (Together) return ~lane_mask(0) >> (8 * sizeof(lane_mask) - detail::warp_width());
    else return mask();
  }
  static __device__ __forceinline__ int first_lane() { return thread_rank() % detail::warp_width() & ~(N - 1); }
  static constexpr __device__ __forceinline__ lane_mask whole() { return ~lane_mask(0) >> (8 * sizeof(lane_mask) - N); }
  template <class T>
  static __device__ __forceinline__ T shuffle(T value, detail::Source source, int operand, where at) {
    const lane_mask lanes = together();
    return detail::move_words(
        value, [=](detail::lane_word word) { return detail::shuffle_word<N>(lanes, word, source, operand, at); });
  }
};

// The same where all lanes of the warp call together. Where tiles may diverge, a device must find out at each shuffle
// which lanes take part, which costs more than the shuffle.
template <int N> using tiles = tile<N, true>;

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
