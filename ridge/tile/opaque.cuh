// make_opaque: hides from the compiler what it knows of a value, without an instruction. Where a kernel passes over
// packed registers twice, the second pass then does not reuse what the first one unpacked; where a pointer moves by the
// same step again and again, the compiler does not compute all of its values beforehand, into registers.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

template <class T, int N> __device__ __forceinline__ void make_opaque([[maybe_unused]] simt::vec<T, N>& value) {
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    static_assert(sizeof value % 4 == 0, "whole 32-bit registers");
    unsigned words[sizeof value / 4];
    memcpy(words, &value, sizeof value);
    RIDGE_UNROLL
    for (unsigned& word : words) asm volatile("" : "+r"(word));
    memcpy(&value, words, sizeof value);
  }
}

__device__ __forceinline__ void make_opaque([[maybe_unused]] unsigned& value) {
  if constexpr (RIDGE_SIMT_ON_CUDA) asm volatile("" : "+r"(value));
}
__device__ __forceinline__ void make_opaque([[maybe_unused]] float& value) {
#if RIDGE_SIMT_ON_CUDA  // other compilers refuse these constraints even where they are discarded
  asm volatile("" : "+f"(value));
#endif
}
template <class T> __device__ __forceinline__ void make_opaque([[maybe_unused]] T*& pointer) {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("" : "+l"(pointer));
#endif
}

}  // namespace ridge::tile
