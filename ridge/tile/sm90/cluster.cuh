// Clusters of blocks: their barrier, and distributed shared memory.
#pragma once
#include <ridge/simt/vec.hpp>
#include <ridge/tile/sm90/mbarrier.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/cluster.hpp>
#else
namespace ridge::tile::sm90 {

// The two halves of a barrier of all threads of the cluster. Stores before the first half are seen after the second,
// also those to another block's shared memory. At a kernel's start the pair says that all blocks have begun, so that
// their shared memory exists; work may stand between the halves.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
// The first half where it orders no stores, only that this thread has come here: cheaper, as cluster_sync_relaxed().
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// The same variable of block `rank` of the cluster.
template <class T> __device__ __forceinline__ T* map_shared_rank(T* shared, unsigned rank) {
  T* there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
  return there;
}

// This thread's `place` and `got` as block `rank` of the cluster has them. That block has begun, and does not end
// before it has waited for all that is sent, by wait_cluster_scope(); `got` receives 16 bytes with each send().
template <class S> class RemoteBuffer {
  static_assert(sizeof(S) == 4);
  unsigned place_, got_;

  __device__ __forceinline__ static unsigned there(unsigned shared, unsigned rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
    return address;
  }

 public:
  __device__ __forceinline__ RemoteBuffer(const S* place, const Barrier* got, unsigned rank)
      : place_(there(shared_address(place), rank)), got_(there(shared_address(got), rank)) {}

  // To place[at].
  __device__ __forceinline__ void send(int at, const simt::vec<S, 4>& x) const {
    unsigned bits[4];
    memcpy(bits, &x, sizeof bits);
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
            place_ + static_cast<unsigned>(at) * 4),
        "r"(got_), "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
        : "memory");
  }
};
// As wait(), for what other blocks of the cluster have sent.
__device__ __forceinline__ void wait_cluster_scope(Barrier* b, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n}" ::"r"(shared_address(b)),
      "r"(parity)
      : "memory");
}

}  // namespace ridge::tile::sm90
#endif
