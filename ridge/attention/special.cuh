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

// The same of many words: sums of marks by |, of which the top bits of either half are set then. Adding the lowest bit
// of its exponent carries into a half's top bit, which was cleared, where all of them are set.
inline constexpr unsigned special_mark = 0x80008000u;
template <class T> __device__ __forceinline__ unsigned marked(unsigned word) {
  constexpr unsigned exponents = exponent_bits<T> * 0x10001u, lowest = special_mark - exponents;
  return ((word & exponents) + lowest) & special_mark;
}

// 0 in the place of such elements.
template <class T> __device__ __forceinline__ unsigned without_special(unsigned word) {
  constexpr unsigned low = exponent_bits<T>, high = low << 16;
  if ((word & low) == low) word &= 0xffff0000u;
  if ((word & high) == high) word &= 0xffffu;
  return word;
}

}  // namespace ridge::attention_kernels
