// 16-bit values that are NaN or infinite, two to a word.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::attention_kernels {

template <class T> inline constexpr unsigned exponent_bits = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;

// Whether a word holds an element that is NaN or infinite.
template <class T> __device__ __forceinline__ bool has_special(unsigned word) {
  constexpr unsigned low = exponent_bits<T>, high = low << 16;
  return (word & low) == low || (word & high) == high;
}

// 0 in the place of such elements.
template <class T> __device__ __forceinline__ unsigned without_special(unsigned word) {
  constexpr unsigned low = exponent_bits<T>, high = low << 16;
  if ((word & low) == low) word &= 0xffff0000u;
  if ((word & high) == high) word &= 0xffffu;
  return word;
}

}  // namespace ridge::attention_kernels
