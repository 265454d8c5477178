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
  if (i < n) R::atomic(y, x[i]);
}

// Reductions by one atomic instruction.
struct AtomicSum : Sum<float> {
  static __device__ __forceinline__ void atomic(float* y, float x) { atomicAdd(y, x); }
};
struct AtomicIntSum : Sum<std::int32_t> {
  static __device__ __forceinline__ void atomic(std::uint64_t* y, std::int32_t x) {
    atomicAdd(reinterpret_cast<unsigned long long*>(y), static_cast<unsigned long long>(std::int64_t{x}));
  }
};
template <bool Greatest> struct AtomicIntExtremum : Extremum<Greatest, std::int32_t> {
  static __device__ __forceinline__ void atomic(std::int32_t* y, std::int32_t x) {
    if constexpr (Greatest) atomicMax(y, x);
    else atomicMin(y, x);
  }
};

// partials[b] = R over block b's elements           x: [n]  partials: [gridDim.x]  scratch: [Threads]
// Active threads are 1, 2, 4, ... apart: every warp stays busy with ever fewer lanes. (No bank conflicts: ridge trace.)
template <class R, int Threads>
__global__ void __launch_bounds__(Threads)
    reduce_interleaved(const typename R::Element* x, typename R::Partial* partials, std::int64_t n) {
  __shared__ typename R::Partial scratch[Threads];
  const int t = threadIdx.x;
  scratch[t] = lift<R>(x, std::int64_t{blockIdx.x} * Threads + t, n);
  __syncthreads();
  for (int distance = 1; distance < Threads; distance *= 2) {
    if (t % (2 * distance) == 0) scratch[t] = R::combine(scratch[t], scratch[t + distance]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

// The same; active threads are neighbours, so that whole warps retire.
template <class R, int Threads>
__global__ void __launch_bounds__(Threads)
    reduce_sequential(const typename R::Element* x, typename R::Partial* partials, std::int64_t n) {
  __shared__ typename R::Partial scratch[Threads];
  const int t = threadIdx.x;
  scratch[t] = lift<R>(x, std::int64_t{blockIdx.x} * Threads + t, n);
  __syncthreads();
  for (int distance = Threads / 2; distance > 0; distance /= 2) {
    if (t < distance) scratch[t] = R::combine(scratch[t], scratch[t + distance]);
    __syncthreads();
  }
  if (t == 0) partials[blockIdx.x] = scratch[0];
}

// The same; registers within a warp, shared memory once across warps.
template <class R, int Threads, int Warp>
__global__ void __launch_bounds__(Threads)
    reduce_shuffle(const typename R::Element* x, typename R::Partial* partials, std::int64_t n) {
  const auto mine = lift<R>(x, std::int64_t{blockIdx.x} * Threads + threadIdx.x, n);
  const auto all = tile::block<Threads, Warp>().reduce(mine, Combine<R>());
  if (threadIdx.x == 0) partials[blockIdx.x] = all;
}

namespace textbook {

// AtomicR: R by atomics.
template <class AtomicR, class R> static Status launch_atomic(const Call<R>& call) {
  RIDGE_TRY(simt::launch(launch_config(call, 1, 1, 1), reduce_set<AtomicR>, call.y));
  return simt::launch(launch_config(call), reduce_atomic<AtomicR>, call.in.x, call.y, call.in.cols);
}

// Launches the kernel that writes partial results.
template <class P, class R> static Status launch_tree(const Call<R>& call) {
  constexpr int threads = P::config.threads;
  const simt::Config at = launch_config(call);
  if constexpr (P::config.algorithm == Algorithm::tree_interleaved)
    return simt::launch(at, reduce_interleaved<R, threads>, call.in.x, call.partials, call.in.cols);
  else if constexpr (P::config.algorithm == Algorithm::tree_sequential)
    return simt::launch(at, reduce_sequential<R, threads>, call.in.x, call.partials, call.in.cols);
  else
    return simt::with_warp(call.args.plan.device.warp, [&](auto width) {
      return simt::launch(at, reduce_shuffle<R, threads, decltype(width)::value>, call.in.x, call.partials,
                          call.in.cols);
    });
}

template <class P, class R> static Status launch(const Call<R>& call) {
  if constexpr (P::config.algorithm != Algorithm::atomic) {
    RIDGE_TRY(launch_tree<P>(call));
    return launch_finish(call);
  } else if constexpr (std::is_same_v<R, Sum<float>>) {
    return launch_atomic<AtomicSum>(call);
  } else if constexpr (std::is_same_v<R, Sum<std::int32_t>>) {
    return launch_atomic<AtomicIntSum>(call);
  } else {
    return launch_atomic<AtomicIntExtremum<std::is_same_v<R, Extremum<true, std::int32_t>>>>(call);
  }
}

}  // namespace textbook
}  // namespace ridge::reduce_detail
