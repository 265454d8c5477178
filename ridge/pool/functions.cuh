// What a window's elements become: combine() them in any grouping, and finish() what came of them.
#pragma once
#include <ridge/tile/extreme.cuh>
#include <ridge/tile/packed.cuh>

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
  template <class T> static __device__ __forceinline__ float finish(float greatest, float, float) { return greatest; }
};

struct Mean {
  static constexpr bool counts = true;
  static __device__ __forceinline__ float neutral() { return 0; }
  static __device__ __forceinline__ float combine(float a, float b) { return a + b; }
  // sum / count, given the reciprocal of count: the product, and its error taken off once, so that the mean of equal
  // values is that value; 16-bit floats are rounded to it anyway. Of an infinite sum the error is NaN, and the product
  // right as it is.
  template <class T> static __device__ __forceinline__ float finish(float sum, float count, float reciprocal) {
    const float mean = sum * reciprocal;
    if constexpr (sizeof(T) == 2) {
      return mean;
    } else {
      const float better = fmaf(fmaf(-mean, count, sum), reciprocal, mean);
      return better == better ? better : mean;
    }
  }
};

// What windows of V neighbouring channels have come to: floats, or 16-bit floats as they are where the function is
// their greatest, two to an instruction.
template <class F, class T> struct Channels {
  static constexpr int V = tile::unit_elements<T>;
  static constexpr bool packed = std::is_same_v<F, Greatest> && tile::is_packed<T>;
  std::conditional_t<packed, tile::Packed, simt::vec<float, V>> value;

  __device__ __forceinline__ Channels() {}
  __device__ __forceinline__ explicit Channels(const tile::Packed& in) {
    if constexpr (packed) value = in;
    else value = tile::unpack_floats<T>(in);
  }
  __device__ __forceinline__ void combine(const Channels& other) {
#pragma unroll
    for (int i = 0; i < (packed ? tile::unit_words : V); ++i) {
      if constexpr (packed) value[i] = tile::Extreme<true>::packed_pick<T>(value[i], other.value[i]);
      else value[i] = F::combine(value[i], other.value[i]);
    }
  }
  __device__ __forceinline__ tile::Packed finish(float count, float reciprocal) const {
    if constexpr (packed) {
      return value;
    } else {
      tile::Floats<T> out;
#pragma unroll
      for (int v = 0; v < V; ++v) out[v] = F::template finish<T>(value[v], count, reciprocal);
      return tile::pack_floats<T>(out);
    }
  }
};

}  // namespace ridge::pool_detail
