// Special values, NaN and infinity, among 16-bit elements, two to a word.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::attention_kernels {

template <class T> inline constexpr unsigned exponent_bits = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;

// Whether a word has a NaN or infinite element.
template <class T> __device__ __forceinline__ bool has_special(unsigned word) {
  constexpr unsigned low = exponent_bits<T>, high = low << 16;
  return (word & low) == low || (word & high) == high;
}

// The same for many words: OR their marks; a half's top bit is then set. Adding the lowest exponent bit carries into
// the half's top bit, which was cleared, if all exponent bits are set.
inline constexpr unsigned special_mark = 0x80008000u;
template <class T> __device__ __forceinline__ unsigned marked(unsigned word) {
  constexpr unsigned exponents = exponent_bits<T> * 0x10001u, lowest = special_mark - exponents;
  return ((word & exponents) + lowest) & special_mark;
}

// Replaces such elements by 0.
template <class T> __device__ __forceinline__ unsigned without_special(unsigned word) {
  constexpr unsigned low = exponent_bits<T>, high = low << 16;
  if ((word & low) == low) word &= 0xffff0000u;
  if ((word & high) == high) word &= 0xffffu;
  return word;
}

}  // namespace ridge::attention_kernels
