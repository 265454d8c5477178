// dot4: four products of 8-bit integers at once, CUDA's dp4a instruction.
#pragma once
#include <ridge/simt/backend.hpp>
#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/names.hpp>
#endif

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

// sum + a[0] b[0] + ... + a[3] b[3] over the signed bytes of two words; wraps.
__device__ __forceinline__ int dot4(int a, int b, int sum) {
#if RIDGE_CUDA_ARCH >= 610
  return __dp4a(a, b, sum);
#else
  for (int shift = 0; shift < 32; shift += 8)
    sum = static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(static_cast<signed char>(a >> shift) *
                                                                              static_cast<signed char>(b >> shift)));
  return sum;
#endif
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
