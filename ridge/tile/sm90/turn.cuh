// Blocks that write to one place in global memory one after another: a word there counts whose turn it is. Blocks have
// to wait for earlier ones alone, by number: those have begun,
// so that nobody waits for a block that has no place to run.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/turn.hpp>
#else
namespace ridge::tile::sm90 {

// Waits until it is the turn `turn`: what was written in those before is seen, also by copies that this thread starts.
__device__ __forceinline__ void await_turn(const unsigned* word, unsigned turn) {
  unsigned now;
  do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
  while (now != turn);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
// After wait_stores<0>(), of this thread's copies.
__device__ __forceinline__ void end_turn(unsigned* word, unsigned turn) {
  asm volatile("fence.proxy.async.global;" ::: "memory");
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(turn + 1) : "memory");
}

// Adds four floats to those at `to`, a multiple of 16, in global memory: each by one addition, which nobody waits for.
__device__ __forceinline__ void add_floats(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}

}  // namespace ridge::tile::sm90
#endif
