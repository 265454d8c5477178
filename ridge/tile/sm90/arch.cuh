// Hopper's own instructions, for units that nvcc compiles. They are not emulated on the CPU, and the same unit is
// compiled for older architectures too: a kernel puts its body behind `if constexpr (tile::sm90::available)`, and its
// operator's fits() refuses devices other than cc 90.
#pragma once
#include <ridge/simt/simt.hpp>

#if !RIDGE_SIMT_ON_CUDA
#error "ridge/tile/sm90 is CUDA's alone: include it from units that only nvcc compiles"
#endif

namespace ridge::tile::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool available = true;
#else
inline constexpr bool available = false;
#endif

// An address in this block's shared memory, as instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// The block's dynamic shared memory, aligned for tiles in the 128-byte swizzle.
__device__ __forceinline__ unsigned char* swizzled_shared() {
  extern __shared__ __align__(1024) unsigned char ridge_swizzled_shared_bytes[];
  return ridge_swizzled_shared_bytes;
}

}  // namespace ridge::tile::sm90
