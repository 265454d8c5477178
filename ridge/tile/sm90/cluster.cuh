// What blocks of a cluster give each other through their shared memory.
#pragma once
#include <ridge/simt/vec.hpp>
#include <ridge/tile/sm90/mbarrier.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/cluster.hpp>
#else
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

// What this thread has at `place` and `got`, in block `rank` of the cluster. The block has begun, and does not end
// before it has waited for all that is sent, by wait_of_cluster(); `got` receives 16 bytes for each call.
template <class S> class Inbox {
  static_assert(sizeof(S) == 4);
  unsigned place_, got_;

  __device__ __forceinline__ static unsigned there(unsigned shared, unsigned rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
    return address;
  }

 public:
  __device__ __forceinline__ Inbox(const S* place, const Barrier* got, unsigned rank)
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
__device__ __forceinline__ void wait_of_cluster(Barrier* b, unsigned parity) {
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
