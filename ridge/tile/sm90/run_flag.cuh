// A flag in global memory that one block sets and another one waits for, in a workspace that may hold anything: it is
// set when it holds the number of its run (tile/last_block.hpp). The block that has waited clears it, so that a graph
// may run again under the number it was captured with. A block waits for blocks of lower number alone, as in
// semaphore.cuh.
#pragma once
#include <ridge/tile/last_block.hpp>
#include <ridge/tile/sm90/arch.cuh>

#include <atomic>

namespace ridge::tile::sm90 {

// What this thread, and before a barrier its block, wrote until here is seen after the wait.
__device__ __forceinline__ void set_flag(Arrivals* flag, Arrivals run) {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(run) : "memory");
#else
  std::atomic_ref<Arrivals>(*flag).store(run, std::memory_order_release);
#endif
}

__device__ __forceinline__ void await_flag(Arrivals* flag, Arrivals run) {
#if RIDGE_SIMT_ON_CUDA
  Arrivals now;
  do asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(now) : "l"(flag) : "memory");
  while (now != run);
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(flag), "l"(0ull) : "memory");
#else
  while (std::atomic_ref<Arrivals>(*flag).load(std::memory_order_acquire) != run) simt::detail::yield();
  std::atomic_ref<Arrivals>(*flag).store(0, std::memory_order_relaxed);
#endif
}

}  // namespace ridge::tile::sm90
