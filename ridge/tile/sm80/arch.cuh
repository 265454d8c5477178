// Instructions of warps from Ampere on (compute capability 8.0), for units that nvcc compiles. They are not emulated on
// the CPU: a kernel puts its body behind `if constexpr (tile::sm80::available)`, and its operator's fits() refuses
// devices before cc 80.
#pragma once
#include <ridge/simt/simt.hpp>

#if !RIDGE_SIMT_ON_CUDA
#error "ridge/tile/sm80 is CUDA's alone: include it from units that only nvcc compiles"
#endif

namespace ridge::tile::sm80 {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
inline constexpr bool available = true;
#else
inline constexpr bool available = false;
#endif

// Whether products of doubles are 16 x 8 x 4 and 16 x 8 x 8; before Hopper they are 8 x 8 x 4.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
inline constexpr bool has_large_f64 = true;
#else
inline constexpr bool has_large_f64 = false;
#endif

// An address in this block's shared memory, as instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

}  // namespace ridge::tile::sm80
