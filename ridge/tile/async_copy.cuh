// async_copy: 16 bytes from global to shared memory that pass no register on the way (cp.async, from sm_80 on), so a
// thread may have any number of them under way. Elsewhere a load and a store.
#pragma once
#include <ridge/tile/packed.cuh>

namespace ridge::tile {

// Precondition: both are aligned to 16 bytes. The bytes are there for this thread after async_wait(), and for the
// block after the barrier that follows it.
template <class T> __device__ __forceinline__ void async_copy(T* shared, const T* global) {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "l"(__cvta_generic_to_global(global))
               : "memory");
#else
  simt::store(shared, simt::load<unit_elements<T>>(global));
#endif
}

// Waits for all copies of this thread.
__device__ __forceinline__ void async_wait() {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace ridge::tile
