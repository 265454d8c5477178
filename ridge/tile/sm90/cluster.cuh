// What blocks of a cluster give each other through their shared memory.
#pragma once
#include <ridge/tile/sm90/warpgroup.cuh>

namespace ridge::tile::sm90 {

// The first half of a barrier of all threads of the cluster, and the second. Stores before the first are seen after the
// second, also those to another block's shared memory. As a pair at a kernel's start: all blocks have begun, so that
// their shared memory is there; work may lie in between.
__device__ __forceinline__ void arrive_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
// The first half where no stores are meant, only that this thread has come here: cheaper, as sync_cluster().
__device__ __forceinline__ void announce_to_cluster() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void await_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// The same variable of block `rank` of the cluster.
template <class T> __device__ __forceinline__ T* in_block(T* shared, unsigned rank) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
}

}  // namespace ridge::tile::sm90
