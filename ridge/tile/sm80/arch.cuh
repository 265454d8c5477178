// Warp instructions from Ampere on (compute capability 8.0). The same translation unit is compiled for older GPUs too:
// a kernel puts its body behind `if constexpr (tile::sm80::available)`, and its operator's fits() refuses devices
// before cc 80. The CPU runtime emulates those on all types but double (sm80/cpu), for tests; no plan chooses that.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile::sm80 {

#if RIDGE_CUDA_ARCH >= 800 || RIDGE_SIMT_ON_CPU
inline constexpr bool available = true;
#else
inline constexpr bool available = false;
#endif

// Whether there are products of 8-bit floats, from Ada on (compute capability 8.9).
#if RIDGE_CUDA_ARCH >= 890 || RIDGE_SIMT_ON_CPU
inline constexpr bool has_fp8 = true;
#else
inline constexpr bool has_fp8 = false;
#endif

// Whether float64 has mma shapes 16 x 8 x 4 and 16 x 8 x 8; before Hopper it has 8 x 8 x 4 alone.
#if RIDGE_CUDA_ARCH >= 900
inline constexpr bool has_large_f64 = true;
#else
inline constexpr bool has_large_f64 = false;
#endif

// An address in this block's shared memory as instructions take it; on the CPU, the offset within the dynamic part.
__device__ __forceinline__ unsigned shared_address(const void* p) {
#if RIDGE_SIMT_ON_CUDA
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
#else
  return static_cast<unsigned>(static_cast<const char*>(p) - simt::dynamic_shared<char>());
#endif
}

}  // namespace ridge::tile::sm80
