// packed_max: the element-wise maximum of two registers of packed elements; of a number and NaN, the number. For two
// 16-bit floats it is one instruction on CUDA, from Ampere on.
#pragma once
#include <ridge/tile/packed.cuh>

namespace ridge::tile {

template <class T> using WordOf = simt::vec<T, word_bytes / sizeof(T)>;

template <class T> __device__ __forceinline__ unsigned packed_max(unsigned a, unsigned b) {
  if constexpr (has_pair_instructions && std::is_same_v<T, bfloat16>) {
    unsigned r;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  } else if constexpr (has_pair_instructions && std::is_same_v<T, half>) {
    unsigned r;
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
  } else {
    WordOf<T> x, y;
    memcpy(&x, &a, sizeof a);
    memcpy(&y, &b, sizeof b);
#pragma unroll
    for (int i = 0; i < word_bytes / static_cast<int>(sizeof(T)); ++i) x[i] = T(fmaxf(float(x[i]), float(y[i])));
    unsigned r;
    memcpy(&r, &x, sizeof r);
    return r;
  }
}

}  // namespace ridge::tile
