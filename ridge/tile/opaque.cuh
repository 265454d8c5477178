// make_opaque: a value the compiler may no longer reason about, at no instruction's cost. Where a kernel passes over
// packed registers twice, it keeps the second pass from reusing what the first one unpacked.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

template <class T, int N> __device__ __forceinline__ void make_opaque([[maybe_unused]] simt::vec<T, N>& value) {
  if constexpr (RIDGE_SIMT_ON_CUDA) {
    static_assert(sizeof value % 4 == 0, "whole 32-bit registers");
    unsigned words[sizeof value / 4];
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (unsigned& word : words) asm volatile("" : "+r"(word));
    memcpy(&value, words, sizeof value);
  }
}

}  // namespace ridge::tile
