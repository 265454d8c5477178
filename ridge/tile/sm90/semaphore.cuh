// A semaphore in global memory that orders blocks which add to one place, as serial split-K has it: its word is the
// number of the block that may go. A block waits for blocks of lower number alone: those have begun, so that no block
// waits for one that has no multiprocessor to run on.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/semaphore.hpp>
#else
namespace ridge::tile::sm90 {

// Waits until the word is `turn`: what earlier blocks wrote before their release is seen, also by copies that this
// thread starts.
__device__ __forceinline__ void semaphore_wait(const unsigned* word, unsigned turn) {
  unsigned now;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
  while (now != turn);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
// Lets the next block go. After wait_stores<0>(), of this thread's copies.
__device__ __forceinline__ void semaphore_release(unsigned* word, unsigned turn) {
  asm volatile("fence.proxy.async.global;" ::: "memory");
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(turn + 1) : "memory");
}

// Adds four floats to those at `to`, in global memory and aligned to 16 bytes: four atomic additions without results.
__device__ __forceinline__ void add_floats(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

}  // namespace ridge::tile::sm90
#endif
