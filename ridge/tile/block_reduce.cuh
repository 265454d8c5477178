// block<Threads, Warp>: a whole block, with the vocabulary of simt::tile<N>. It may have any number of threads, also
// not a multiple of the warp, and any trivially copyable type. (row_reduce.cuh: for rows whose lanes are a power of
// two.)
#pragma once
#include <ridge/simt/simt.hpp>

#include <cstring>

namespace ridge::tile {

// Reduces by f over all of the block's threads. Every thread gets the result; shared memory is free again on return.
//
// Preconditions: all of the block's threads call; the block has `threads` of them in total. f is commutative and
// associative up to rounding. The order is fixed: a tree within each warp, then warp after warp; so the result
// repeats bit for bit, and a float sum has log2(Warp) + threads / Warp additions on an element's way.
template <int Warp, class T, class F> __device__ T block_reduce(T value, F f, int threads) {
  static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable types can move between threads");
  struct alignas(T) Slot {  // shared memory takes no constructors
    unsigned char bytes[sizeof(T)];
  };
  constexpr int most_warps = (1024 + Warp - 1) / Warp;
  __shared__ Slot slots[most_warps];

  const simt::tile<Warp> warp;
  const int live = ::min(Warp, threads - warp.index() * Warp);  // the last warp may be short
  if (live == Warp) {
    value = warp.reduce(value, f);
  } else {
    for (int distance = Warp / 2; distance > 0; distance /= 2) {
      const T other = warp.shfl_down(value, distance);
      if (warp.rank() + distance < live) value = f(value, other);
    }
  }
  const int warps = (threads + Warp - 1) / Warp;
  if (warps > 1 || live < Warp) {
    if (warp.rank() == 0) memcpy(&slots[warp.index()], &value, sizeof value);
    __syncthreads();
    // Every thread reads all: at most 32 broadcasts, against a second tree and a second barrier.
    memcpy(&value, &slots[0], sizeof value);
    for (int w = 1; w < warps; ++w) {
      T other;
      memcpy(&other, &slots[w], sizeof other);
      value = f(value, other);
    }
    __syncthreads();
  }
  return value;
}

template <int Threads, int Warp = simt::native_warp> struct block {
  static __device__ __forceinline__ int size() { return Threads; }
  static __device__ __forceinline__ int rank() { return simt::thread_rank(); }
  template <class T, class F> __device__ __forceinline__ T reduce(T value, F f) const {
    return block_reduce<Warp>(value, f, Threads);
  }
};

// The same for as many threads as were launched.
template <int Warp = simt::native_warp> struct any_block {
  static __device__ __forceinline__ int size() { return static_cast<int>(blockDim.x); }
  static __device__ __forceinline__ int rank() { return simt::thread_rank(); }
  template <class T, class F> __device__ __forceinline__ T reduce(T value, F f) const {
    return block_reduce<Warp>(value, f, size());
  }
};

}  // namespace ridge::tile
