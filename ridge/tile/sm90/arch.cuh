// Hopper's own instructions. The same translation unit is compiled for older GPUs too: a kernel puts its body behind
// `if constexpr (tile::sm90::available)`, and its operator's fits() refuses devices other than cc 90.
//
// The CPU runtime emulates what a kernel without clusters needs (sm90/cpu): tiles by TMA, barriers in shared memory,
// wgmma. That is for tests, which find a missing wait, a wrong address or a deadlock; no plan chooses it.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile::sm90 {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || RIDGE_SIMT_ON_CPU
inline constexpr bool available = true;
#else
inline constexpr bool available = false;
#endif

// An address in this block's shared memory as instructions take it; on the CPU, the offset within the dynamic part.
__device__ __forceinline__ unsigned shared_address(const void* p) {
#if RIDGE_SIMT_ON_CUDA
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
#else
  return static_cast<unsigned>(static_cast<const char*>(p) - simt::dynamic_shared<char>());
#endif
}

// The block's dynamic shared memory, aligned for tiles in the 128-byte swizzle.
__device__ __forceinline__ unsigned char* swizzled_shared() {
#if RIDGE_SIMT_ON_CUDA
  extern __shared__ __align__(1024) unsigned char ridge_swizzled_shared_bytes[];
  return ridge_swizzled_shared_bytes;
#else
  return simt::dynamic_shared<unsigned char>();
#endif
}

}  // namespace ridge::tile::sm90
