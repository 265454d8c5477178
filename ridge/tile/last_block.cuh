// Finds the last block to arrive of those that share a result: it sees what all of them wrote.
//
//   partials[mine] = ...;  if (is_last_to_arrive(word, run, blocks)) { all of partials }
#pragma once
#include <ridge/simt/simt.hpp>
#include <ridge/tile/last_block.hpp>

namespace ridge::tile {

// Makes the word this run's, before this block arrives. One thread calls.
__device__ __forceinline__ void claim_arrivals(Arrivals* word, Arrivals run) {
  Arrivals seen = atomicAdd(word, 0ull);
  while (seen >> arrival_bits != run >> arrival_bits) {  // no block of this run has claimed it yet
    const Arrivals before = atomicCAS(word, seen, run);
    seen = before == seen ? run : before;
  }
}

// Returns, to all of the block's threads, whether this arrival is the last of `arrivals`. If so, they see what the
// threads of all blocks wrote before they arrived.
// Preconditions: all of the block's threads call; arrivals <= most_arrivals.
__device__ __forceinline__ bool is_last_to_arrive(Arrivals* word, Arrivals run, std::int64_t arrivals) {
  __shared__ bool last;
  __syncthreads();
  // One thread's fences are enough: the barriers on either side extend what they order to the block's other threads.
  if (simt::thread_rank() == 0) {
    __threadfence();
    claim_arrivals(word, run);
    const Arrivals before_me = atomicAdd(word, 1ull) & static_cast<Arrivals>(most_arrivals);
    const bool am_last = before_me == static_cast<Arrivals>(arrivals - 1);
    __threadfence();
    if (am_last) atomicExch(word, 0ull);
    last = am_last;
  }
  __syncthreads();
  return last;
}

}  // namespace ridge::tile
