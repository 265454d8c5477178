// What a window's elements become: combine() them in any grouping, and finish() what came of them.
#pragma once
#include <ridge/tile/extreme.cuh>

namespace ridge::pool_detail {

// Of the taps first, first + step, ... those that lie within [0, size).
__device__ __forceinline__ int taps_inside(int first, int taps, int size) {
  const int last = first + taps;
  const int inside = (last < size ? last : size) - (first > 0 ? first : 0);
  return inside > 0 ? inside : 0;
}

struct Greatest {
  static constexpr bool counts = false;
  static __device__ __forceinline__ float neutral() { return -__builtin_huge_valf(); }
  static __device__ __forceinline__ float combine(float a, float b) { return tile::Extreme<true>::pick(a, b); }
  static __device__ __forceinline__ float finish(float greatest, float, float) { return greatest; }
};

struct Mean {
  static constexpr bool counts = true;
  static __device__ __forceinline__ float neutral() { return 0; }
  static __device__ __forceinline__ float combine(float a, float b) { return a + b; }
  // sum / count, given the reciprocal of count: the product, and its error taken off once, so that the mean of equal
  // values is that value. Of an infinite sum the error is NaN, and the product right as it is.
  static __device__ __forceinline__ float finish(float sum, float count, float reciprocal) {
    const float mean = sum * reciprocal;
    const float better = fmaf(fmaf(-mean, count, sum), reciprocal, mean);
    return better == better ? better : mean;
  }
};

}  // namespace ridge::pool_detail
