// to_floats: the values of neighbouring elements in float32.
#pragma once
#include <ridge/core/float16.hpp>
#include <ridge/simt/simt.hpp>

#include <cstring>

namespace ridge::tile {

// A bfloat16 is the upper half of its float: one instruction each, if asked for word by word.
template <class T, int V> __device__ __forceinline__ void to_floats(const simt::vec<T, V>& x, float (&f)[V]) {
  if constexpr (std::is_same_v<T, bfloat16> && V % 2 == 0) {
    std::uint32_t words[V / 2];
    memcpy(words, &x, sizeof words);
    RIDGE_UNROLL_ON_GPU
    for (int w = 0; w < V / 2; ++w) {
      f[2 * w] = __builtin_bit_cast(float, words[w] << 16);
      f[2 * w + 1] = __builtin_bit_cast(float, words[w] & 0xffff0000u);
    }
  } else {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) f[v] = x[v];
  }
}

}  // namespace ridge::tile
