// Sums and products that are rounded by themselves, and that no compiler joins to a multiply-add: arithmetic that keeps
// what rounding takes from a result needs each of them as it is written.
//
// CUDA's names for them are plain operators in AMD's header, which AMD's compiler contracts.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

#if RIDGE_VENDOR_IS_HIP && !RIDGE_SIMT_ON_CPU
__device__ __forceinline__ float add_rn(float a, float b) {
#pragma clang fp contract(off)
  return a + b;
}
__device__ __forceinline__ float sub_rn(float a, float b) {
#pragma clang fp contract(off)
  return a - b;
}
__device__ __forceinline__ float mul_rn(float a, float b) {
#pragma clang fp contract(off)
  return a * b;
}
#else
__device__ __forceinline__ float add_rn(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub_rn(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float mul_rn(float a, float b) { return __fmul_rn(a, b); }
#endif
__device__ __forceinline__ float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
