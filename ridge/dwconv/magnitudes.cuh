// Magnitudes of elements, as exponents, and scales that are powers of two.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::dwconv_detail {

inline constexpr int exponent_bias = 127, fraction_bits = 23;  // of float

__device__ __forceinline__ float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<unsigned>(exponent + exponent_bias) << fraction_bits);
}

// The greatest magnitude of some elements, and the least except 0, as bits: they have the same order as magnitudes.
struct Magnitudes {
  unsigned greatest = 0, least = ~0u;

  __device__ __forceinline__ void add(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x) & 0x7fffffffu;
    greatest = ::max(greatest, bits);
    least = ::min(least, bits - 1);  // 0 wraps to the greatest; the span stays the same, or grows by one
  }
  template <class Tile> __device__ __forceinline__ Magnitudes across(const Tile& lanes) const {
    Magnitudes m;
    m.greatest = lanes.reduce(greatest, [](unsigned a, unsigned b) { return ::max(a, b); });
    m.least = lanes.reduce(least, [](unsigned a, unsigned b) { return ::min(a, b); });
    return m;
  }
  // Reduces over N neighbouring lanes, for the whole warp at once:
  // a shuffle of fewer lanes would take a mask that differs among them.
  template <int N> __device__ __forceinline__ Magnitudes across_each() const {
    const simt::tile<32> warp;
    Magnitudes m = *this;
#pragma unroll
    for (int distance = N / 2; distance > 0; distance /= 2) {
      m.greatest = ::max(m.greatest, warp.shfl_xor(m.greatest, distance));
      m.least = ::min(m.least, warp.shfl_xor(m.least, distance));
    }
    return m;
  }
  __device__ __forceinline__ bool finite() const { return greatest < 0x7f800000u; }
  __device__ __forceinline__ int exponent() const {
    return static_cast<int>(greatest >> fraction_bits) - exponent_bias;
  }
};

}  // namespace ridge::dwconv_detail
