// Instructions that have no function in the vendors' math headers.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

// 2^x by the special-function unit: relative error 2^-22, results below the least normal number become 0.
__device__ __forceinline__ float fast_exp2(float x) {
#if RIDGE_SIMT_ON_CUDA
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

// 1 / x likewise: relative error 2^-23, results below the least normal number become 0.
__device__ __forceinline__ float fast_reciprocal(float x) {
#if RIDGE_SIMT_ON_CUDA
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
