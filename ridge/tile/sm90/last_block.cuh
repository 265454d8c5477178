// The last block to arrive, in two steps of one thread of each block: claim_arrivals() (tile/last_block.cuh) at the
// block's beginning, when there is time, and arrives_last() at its end, one trip to memory.
#pragma once
#include <ridge/tile/last_block.cuh>
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

// Whether this arrival is the last of `arrivals`. If so, this thread, and after a barrier its block, sees what the
// blocks wrote before a barrier of theirs and their arrival. Preconditions: this thread has claimed the word; 0 <
// arrivals <= most_arrivals.
__device__ __forceinline__ bool arrives_last(Arrivals* word, int arrivals) {
  Arrivals before_me;
#if RIDGE_SIMT_ON_CUDA
  asm volatile("atom.acq_rel.gpu.global.add.u64 %0, [%1], 1;" : "=l"(before_me) : "l"(word) : "memory");
#else
  __threadfence();
  before_me = atomicAdd(word, 1ull);
  __threadfence();
#endif
  if ((before_me & static_cast<Arrivals>(most_arrivals)) != static_cast<Arrivals>(arrivals - 1)) return false;
  atomicExch(word, 0ull);  // for the same run again, from a graph
  return true;
}

}  // namespace ridge::tile::sm90
