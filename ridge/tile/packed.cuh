// Packed: 16 bytes of elements in the four registers they are loaded into. Kernels that keep many elements keep them
// packed and unpack as they pass over them: kept as elements, 16-bit types would take a register each.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

inline constexpr int unit_bytes = 16;  // the widest access of a thread
inline constexpr int word_bytes = 4;
inline constexpr int unit_words = unit_bytes / word_bytes;

template <class T> inline constexpr int unit_elements = unit_bytes / static_cast<int>(sizeof(T));
template <class T> using Unit = simt::vec<T, unit_elements<T>>;
using Packed = simt::vec<unsigned, unit_words>;

template <class T> __device__ __forceinline__ Packed pack(const Unit<T>& unit) {
  Packed packed;
  memcpy(&packed, &unit, sizeof packed);
  return packed;
}
template <class T> __device__ __forceinline__ Unit<T> unpack(const Packed& packed) {
  Unit<T> unit;
  memcpy(&unit, &packed, sizeof unit);
  return unit;
}

// Precondition: p is aligned to 16 bytes.
template <class T> __device__ __forceinline__ Packed load_packed(const T* p) {
  // nvcc splits a struct of 16-bit members into as many registers before it sees that they stay together.
  if constexpr (RIDGE_SIMT_ON_CUDA) return simt::load<unit_words>(reinterpret_cast<const unsigned*>(p));
  else return pack<T>(simt::load<unit_elements<T>>(p));
}

// Precondition: p is in global memory, aligned to 16 bytes.
template <class T> __device__ __forceinline__ void store_packed(T* p, const Packed& packed) {
  if constexpr (RIDGE_SIMT_ON_CUDA) simt::store_global(reinterpret_cast<unsigned*>(p), packed);
  else simt::store_global(p, unpack<T>(packed));
}

// Precondition: p is in shared memory, aligned to 16 bytes.
template <class T> __device__ __forceinline__ void store_packed_shared(T* p, const Packed& packed) {
  if constexpr (RIDGE_SIMT_ON_CUDA) simt::store(reinterpret_cast<unsigned*>(p), packed);
  else simt::store(p, unpack<T>(packed));
}

// Two neighbours of a 16-bit type in the word that they lie in, as floats, and rounded to it. One by one, nvcc takes
// three instructions for each second of them.
template <class T> inline constexpr bool has_pairs = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
template <class T> __device__ __forceinline__ void unpack_pair(unsigned word, float& first, float& second) {
  static_assert(has_pairs<T>);
  if constexpr (std::is_same_v<T, bfloat16>) {  // the upper half of its float
    first = __builtin_bit_cast(float, word << 16);
    second = __builtin_bit_cast(float, word & 0xffff0000u);
  } else if constexpr (RIDGE_SIMT_ON_CUDA) {
    unsigned low, high;  // as words: hipcc, which looks at this too, knows no other constraint
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=r"(low), "=r"(high)
        : "r"(word));
    first = __builtin_bit_cast(float, low);
    second = __builtin_bit_cast(float, high);
  } else {
    T pair[2];
    memcpy(pair, &word, sizeof pair);
    first = float(pair[0]);
    second = float(pair[1]);
  }
}
template <class T> __device__ __forceinline__ unsigned pack_pair(float first, float second) {
  static_assert(has_pairs<T>);
  unsigned word;
  if constexpr (RIDGE_SIMT_ON_CUDA && std::is_same_v<T, bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
        : "=r"(word)
        : "r"(__builtin_bit_cast(unsigned, second)), "r"(__builtin_bit_cast(unsigned, first)));
  } else if constexpr (RIDGE_SIMT_ON_CUDA) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;"
        : "=r"(word)
        : "r"(__builtin_bit_cast(unsigned, second)), "r"(__builtin_bit_cast(unsigned, first)));
  } else {
    const T pair[2] = {T(first), T(second)};
    memcpy(&word, pair, sizeof word);
  }
  return word;
}

// The elements of a unit as floats, and a unit of such.
template <class T> using Floats = simt::vec<float, unit_elements<T>>;
template <class T> __device__ __forceinline__ Floats<T> unpack_floats(const Packed& packed) {
  Floats<T> floats;
  if constexpr (has_pairs<T>) {
#pragma unroll
    for (int w = 0; w < unit_words; ++w) unpack_pair<T>(packed[w], floats[2 * w], floats[2 * w + 1]);
  } else {
    const Unit<T> unit = unpack<T>(packed);
#pragma unroll
    for (int v = 0; v < unit_elements<T>; ++v) floats[v] = float(unit[v]);
  }
  return floats;
}
template <class T> __device__ __forceinline__ Packed pack_floats(const Floats<T>& floats) {
  Packed packed;
  if constexpr (has_pairs<T>) {
#pragma unroll
    for (int w = 0; w < unit_words; ++w) packed[w] = pack_pair<T>(floats[2 * w], floats[2 * w + 1]);
  } else {
    Unit<T> unit;
#pragma unroll
    for (int v = 0; v < unit_elements<T>; ++v) unit[v] = T(floats[v]);
    packed = pack<T>(unit);
  }
  return packed;
}

// The values of neighbouring elements in float32.
template <class T, int V> __device__ __forceinline__ void to_floats(const simt::vec<T, V>& x, float (&f)[V]) {
  if constexpr (has_pairs<T> && V % 2 == 0) {
    unsigned words[V / 2];
    memcpy(words, &x, sizeof words);
    RIDGE_UNROLL_ON_GPU
    for (int w = 0; w < V / 2; ++w) unpack_pair<T>(words[w], f[2 * w], f[2 * w + 1]);
  } else {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) f[v] = static_cast<float>(x[v]);
  }
}

// Calls f with each element of a unit, as a float, and its place.
template <class T, class F> __device__ __forceinline__ void for_elements(const Packed& packed, F&& f) {
  const Floats<T> floats = unpack_floats<T>(packed);
#pragma unroll
  for (int v = 0; v < unit_elements<T>; ++v) f(floats[v], v);
}

// The unit of one value throughout.
template <class T> __device__ __forceinline__ Packed packed_fill(float value) {
  Unit<T> unit;
#pragma unroll
  for (int v = 0; v < unit_elements<T>; ++v) unit[v] = T(value);
  return pack<T>(unit);
}

}  // namespace ridge::tile
