// The textbook's steps towards slices.cuh: one element per thread, x contiguous.
#pragma once
#include <ridge/reduce/finish.cuh>

namespace ridge::reduce_detail {

// A thread's one element as a partial result.
template <class R>
__device__ __forceinline__ typename R::Partial lift(const typename R::Element* x, std::int64_t i, std::int64_t n) {
  return i < n ? R::lift(x[i], {}, 0) : R::identity();
}

// y[0] = R's identity                               y: [1]
template <class R> __global__ void reduce_set(typename R::Output* y) { *y = R::output(R::identity(), 1, Finish{}); }

// y[0] = R of y[0] and x                            x: [n]  y: [1]
// Precondition: y was set.
template <class R> __global__ void reduce_atomic(const typename R::Element* x, typename R::Output* y, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) R::atomic(y, R::lift(x[i], {}, 0));
}

// Reductions by one atomic instruction, of y and a partial result.
struct AtomicSum : Sum<float> {
  static __device__ __forceinline__ void atomic(float* y, float x) { atomicAdd(y, x); }
};
struct AtomicIntSum : Sum<std::int32_t> {
  static __device__ __forceinline__ void atomic(std::uint64_t* y, std::uint64_t x) {
    atomicAdd(reinterpret_cast<unsigned long long*>(y), static_cast<unsigned long long>(x));
  }
};
template <bool Greatest> struct AtomicIntExtremum : Extremum<Greatest, std::int32_t> {
  static __device__ __forceinline__ void atomic(std::int32_t* y, std::int32_t x) {
    if constexpr (Greatest) atomicMax(y, x);
    else atomicMin(y, x);
  }
};

// Orders in which a block combines what lies in shared memory, until scratch[0] is R of it all.    scratch: [Threads]
// Preconditions: all of the block's threads call, after a barrier; Threads is a power of two; t is the thread.

// One thread's; the others have nothing to do.
struct Serial {
  template <class R, int Threads> static __device__ __forceinline__ void combine(typename R::Partial* scratch, int t) {
    if (t != 0) return;
    auto all = scratch[0];
    for (int i = 1; i < Threads; ++i) all = R::combine(all, scratch[i]);
    scratch[0] = all;
  }
};

// A tree, neighbours first. Active threads are 1, 2, 4, ... apart: every warp stays busy with ever fewer lanes. (No
// bank conflicts: ridge trace.)
struct Interleaved {
  template <class R, int Threads> static __device__ __forceinline__ void combine(typename R::Partial* scratch, int t) {
    for (int distance = 1; distance < Threads; distance *= 2) {
      if (t % (2 * distance) == 0) scratch[t] = R::combine(scratch[t], scratch[t + distance]);
      __syncthreads();
    }
  }
};

// The same pairs. Active threads are neighbours, so that whole warps retire; their words are 2, 4, 8, ... apart, so
// that lanes meet in ever fewer banks.
struct Strided {
  template <class R, int Threads> static __device__ __forceinline__ void combine(typename R::Partial* scratch, int t) {
    for (int distance = 1; distance < Threads; distance *= 2) {
      const int at = 2 * distance * t;
      if (at < Threads) scratch[at] = R::combine(scratch[at], scratch[at + distance]);
      __syncthreads();
    }
  }
};

// A tree, halves first. Active threads are neighbours, and so are their words.
struct Sequential {
  template <class R, int Threads> static __device__ __forceinline__ void combine(typename R::Partial* scratch, int t) {
    for (int distance = Threads / 2; distance > 0; distance /= 2) {
      if (t < distance) scratch[t] = R::combine(scratch[t], scratch[t + distance]);
      __syncthreads();
    }
  }
};

// partials[b] = R over block b's elements           x: [n]  partials: [gridDim.x]
// Preconditions: Threads is a power of two; gridDim.x * Threads covers n.
template <class R, class Order, int Threads>
__global__ void __launch_bounds__(Threads)
    reduce_in_shared(const typename R::Element* x, typename R::Partial* partials, std::int64_t n) {
  static_assert((Threads & (Threads - 1)) == 0, "a tree's steps halve the threads");
  __shared__ typename R::Partial scratch[Threads];  // [Threads]: an element of each
  const int t = threadIdx.x;
  scratch[t] = lift<R>(x, std::int64_t{blockIdx.x} * Threads + t, n);  // load
  __syncthreads();
  Order::template combine<R, Threads>(scratch, t);  // compute
  if (t == 0) partials[blockIdx.x] = scratch[0];    // finish
}

// R over a block's elements, to all of its threads: registers within a warp, shared memory once across warps.   x: [n]
template <class R, int Threads, int Warp>
__device__ __forceinline__ typename R::Partial of_block(const typename R::Element* x, std::int64_t n) {
  const auto mine = lift<R>(x, std::int64_t{blockIdx.x} * Threads + threadIdx.x, n);
  return tile::block<Threads, Warp>().reduce(mine, Combine<R>());
}

// partials[b] = R over block b's elements           x: [n]  partials: [gridDim.x]
// Precondition: gridDim.x * Threads covers n.
template <class R, int Threads, int Warp>
__global__ void __launch_bounds__(Threads)
    reduce_shuffle(const typename R::Element* x, typename R::Partial* partials, std::int64_t n) {
  const auto all = of_block<R, Threads, Warp>(x, n);
  if (threadIdx.x == 0) partials[blockIdx.x] = all;
}

// y[0] = R of y[0] and x, by one atomic per block   x: [n]  y: [1]
// Preconditions: y was set; gridDim.x * Threads covers n.
template <class R, int Threads, int Warp>
__global__ void __launch_bounds__(Threads)
    reduce_block_atomic(const typename R::Element* x, typename R::Output* y, std::int64_t n) {
  const auto all = of_block<R, Threads, Warp>(x, n);
  if (threadIdx.x == 0) R::atomic(y, all);
}

namespace textbook {

// AtomicR: R by atomics.
template <class AtomicR, class P, class R> static Status launch_atomic(const Call<R>& call) {
  RIDGE_TRY(simt::launch(launch_config(call, 1, 1, 1), reduce_set<AtomicR>, call.y));
  const simt::Config at = launch_config(call);
  if constexpr (P::config.algorithm == Algorithm::atomic)
    return simt::launch(at, reduce_atomic<AtomicR>, call.in.x, call.y, call.in.cols);
  else
    return simt::with_warp(call.args.plan.device.warp, [&](auto width) {
      return simt::launch(at, reduce_block_atomic<AtomicR, P::config.threads, decltype(width)::value>, call.in.x,
                          call.y, call.in.cols);
    });
}

template <class Order, class P, class R> static Status launch_in_shared(const Call<R>& call) {
  return simt::launch(launch_config(call), reduce_in_shared<R, Order, P::config.threads>, call.in.x, call.partials,
                      call.in.cols);
}

// Launches the kernel that writes partial results.
template <class P, class R> static Status launch_partials(const Call<R>& call) {
  constexpr Algorithm algorithm = P::config.algorithm;
  if constexpr (algorithm == Algorithm::block_serial) return launch_in_shared<Serial, P>(call);
  else if constexpr (algorithm == Algorithm::tree_interleaved) return launch_in_shared<Interleaved, P>(call);
  else if constexpr (algorithm == Algorithm::tree_strided) return launch_in_shared<Strided, P>(call);
  else if constexpr (algorithm == Algorithm::tree_sequential) return launch_in_shared<Sequential, P>(call);
  else
    return simt::with_warp(call.args.plan.device.warp, [&](auto width) {
      return simt::launch(launch_config(call), reduce_shuffle<R, P::config.threads, decltype(width)::value>, call.in.x,
                          call.partials, call.in.cols);
    });
}

template <class P, class R> static Status launch(const Call<R>& call) {
  if constexpr (!is_atomic(P::config)) {
    RIDGE_TRY(launch_partials<P>(call));
    return launch_finish(call);
  } else if constexpr (std::is_same_v<R, Sum<float>>) {
    return launch_atomic<AtomicSum, P>(call);
  } else if constexpr (std::is_same_v<R, Sum<std::int32_t>>) {
    return launch_atomic<AtomicIntSum, P>(call);
  } else {
    return launch_atomic<AtomicIntExtremum<std::is_same_v<R, Extremum<true, std::int32_t>>>, P>(call);
  }
}

}  // namespace textbook
}  // namespace ridge::reduce_detail
