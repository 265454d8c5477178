// Warpgroups (four warps that issue wgmma together), named barriers, cluster barriers: what warp-specialized kernels
// need.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

inline constexpr int warpgroup_threads = 128;

// This thread's warpgroup, in a form that the compiler knows to be uniform over the warp.
__device__ __forceinline__ int warpgroup_index() { return __shfl_sync(~0u, threadIdx.x / warpgroup_threads, 0); }
__device__ __forceinline__ int warp_of_warpgroup() { return __shfl_sync(~0u, threadIdx.x / 32 % 4, 0); }

}  // namespace ridge::tile::sm90

#if !RIDGE_SIMT_ON_CUDA
#include <ridge/tile/sm90/cpu/warpgroup.hpp>
#else
namespace ridge::tile::sm90 {

// Lowers or raises the registers of a thread. All warps of a warpgroup call, in a kernel with
// __launch_bounds__(threads, 1).
template <int Registers> __device__ __forceinline__ void dealloc_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers> __device__ __forceinline__ void alloc_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}

// Whether this lane is the one that a converged warp has elected. The compiler then knows that one lane alone runs the
// branch, so operands may be in uniform registers.
__device__ __forceinline__ bool is_elected() {
  unsigned elected = 0;
  asm volatile(
      "{\n.reg .pred is;\n"
      "elect.sync _|is, 0xffffffff;\n"
      "@is mov.u32 %0, 1;\n}"
      : "+r"(elected));
  return elected != 0;
}

// A barrier of this warpgroup alone. Ids 1 to 15; 0 is __syncthreads.
__device__ __forceinline__ void sync_warpgroup(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(warpgroup_threads) : "memory");
}
// A barrier of Threads threads: some arrive and go on, the others wait for all of them.
template <int Threads> __device__ __forceinline__ void named_barrier_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(Threads) : "memory");
}
template <int Threads> __device__ __forceinline__ void named_barrier_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(Threads) : "memory");
}

__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ unsigned cluster_size() {
  unsigned size;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
// A barrier of all threads of the cluster's blocks: what they stored before it is seen after it.
__device__ __forceinline__ void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}
// The same, cheaper: after it all blocks have begun, or none has ended, and barriers published by fence_init() are
// seen; other stores are not ordered, for which each thread would have to wait (a microsecond at a kernel's start).
__device__ __forceinline__ void cluster_sync_relaxed() {
  asm volatile(
      "barrier.cluster.arrive.relaxed.aligned;\n"
      "barrier.cluster.wait.aligned;" ::
          : "memory");
}

// Stores four 8x8 matrices of 16-bit elements from a warp's registers to shared memory; lane l passes the address of
// row l % 8 of matrix l / 8. Register i holds element (l / 4, 2 (l % 4)) of matrix i and its neighbour.
__device__ __forceinline__ void store_matrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

}  // namespace ridge::tile::sm90
#endif
