// mbarrier: a barrier in shared memory that counts arrivals and bytes. A phase ends when both are complete; wait()
// waits for the end of the phase of a given parity, which is 0 for the first phase. Waiting for parity 1 of a fresh
// barrier returns at once, which is how a producer finds empty buffers.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/mbarrier.hpp>
#else
namespace ridge::tile::sm90 {

using Barrier = std::uint64_t;

__device__ __forceinline__ void init(Barrier* b, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
// To be called after init() and before a barrier of the block or cluster: the copy engine and other blocks then see it.
__device__ __forceinline__ void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void arrive(Barrier* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
// Arrives at the same barrier of block `rank` of the cluster. It orders what asynchronous units read and nothing else:
// with the scope of the cluster, the arrival would flush this thread's stores to the L2 cache each time (1,500 clocks).
__device__ __forceinline__ void arrive_at(Barrier* b, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(b)),
      "r"(rank)
      : "memory");
}
// Arrives, and makes the phase wait for `bytes` of copies. A tile that is partly out of bounds counts in full.
__device__ __forceinline__ void arrive_and_expect_tx(Barrier* b, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes)
               : "memory");
}

__device__ __forceinline__ void wait(Barrier* b, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n}" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

}  // namespace ridge::tile::sm90
#endif

namespace ridge::tile::sm90 {

// A position in a ring of N stages: the stage, and the parity of its barriers.
template <int N> struct PipelineState {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == N) stage = 0, parity ^= 1;
  }
  __device__ __forceinline__ void skip(int steps) {
    const int to = stage + steps;
    stage = to % N;
    parity ^= to / N & 1;
  }
};

}  // namespace ridge::tile::sm90
