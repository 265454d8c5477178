// Packed: a vector of 16 bytes in the four registers that it is loaded into. Kernels that keep many elements keep them
// packed and unpack as they pass over them: kept as elements, 16-bit types would take a register each.
#pragma once
#include <ridge/core/vector_access.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

inline constexpr int word_bytes = 4;
inline constexpr int vector_words = vector_bytes / word_bytes;

template <class T> inline constexpr int vector_elements = vector_bytes / static_cast<int>(sizeof(T));
template <class T> using Vector = simt::vec<T, vector_elements<T>>;
using Packed = simt::vec<unsigned, vector_words>;

template <class T> __device__ __forceinline__ Packed pack(const Vector<T>& vector) {
  Packed packed;
  memcpy(&packed, &vector, sizeof packed);
  return packed;
}
template <class T> __device__ __forceinline__ Vector<T> unpack(const Packed& packed) {
  Vector<T> vector;
  memcpy(&vector, &packed, sizeof vector);
  return vector;
}

// Precondition: p is aligned to 16 bytes.
template <class T> __device__ __forceinline__ Packed load_packed(const T* p) {
  // nvcc splits a struct of 16-bit members into as many registers before it sees that they stay together.
  if constexpr (RIDGE_SIMT_ON_CUDA) return simt::load<vector_words>(reinterpret_cast<const unsigned*>(p));
  else return pack<T>(simt::load<vector_elements<T>>(p));
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

// Whether two floats become a word of 16-bit ones, and words have a maximum, by one instruction: from Ampere on.
#if RIDGE_CUDA_ARCH >= 800
inline constexpr bool has_pair_instructions = true;
#else
inline constexpr bool has_pair_instructions = false;
#endif

// Converts two neighbours of a 16-bit type, in one word, to floats and back. One by one, nvcc takes three instructions
// for every second of them.
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
  if constexpr (has_pair_instructions && std::is_same_v<T, bfloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
        : "=r"(word)
        : "r"(__builtin_bit_cast(unsigned, second)), "r"(__builtin_bit_cast(unsigned, first)));
  } else if constexpr (has_pair_instructions) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;"
        : "=r"(word)
        : "r"(__builtin_bit_cast(unsigned, second)), "r"(__builtin_bit_cast(unsigned, first)));
  } else {
    const T pair[2] = {T(first), T(second)};
    memcpy(&word, pair, sizeof word);
  }
  return word;
}

// Converts a vector's elements to floats and back.
template <class T> using Floats = simt::vec<float, vector_elements<T>>;
template <class T> __device__ __forceinline__ Floats<T> unpack_floats(const Packed& packed) {
  Floats<T> floats;
  if constexpr (has_pairs<T>) {
#pragma unroll
    for (int w = 0; w < vector_words; ++w) unpack_pair<T>(packed[w], floats[2 * w], floats[2 * w + 1]);
  } else {
    const Vector<T> vector = unpack<T>(packed);
#pragma unroll
    for (int v = 0; v < vector_elements<T>; ++v) floats[v] = float(vector[v]);
  }
  return floats;
}
template <class T> __device__ __forceinline__ Packed pack_floats(const Floats<T>& floats) {
  Packed packed;
  if constexpr (has_pairs<T>) {
#pragma unroll
    for (int w = 0; w < vector_words; ++w) packed[w] = pack_pair<T>(floats[2 * w], floats[2 * w + 1]);
  } else {
    Vector<T> vector;
#pragma unroll
    for (int v = 0; v < vector_elements<T>; ++v) vector[v] = T(floats[v]);
    packed = pack<T>(vector);
  }
  return packed;
}

// Converts neighbouring elements to float32.
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

// Calls f(element as a float, its index) for each element of a vector.
template <class T, class F> __device__ __forceinline__ void for_elements(const Packed& packed, F&& f) {
  const Floats<T> floats = unpack_floats<T>(packed);
#pragma unroll
  for (int v = 0; v < vector_elements<T>; ++v) f(floats[v], v);
}

// A vector filled with one value.
template <class T> __device__ __forceinline__ Packed packed_fill(float value) {
  Vector<T> vector;
#pragma unroll
  for (int v = 0; v < vector_elements<T>; ++v) vector[v] = T(value);
  return pack<T>(vector);
}

}  // namespace ridge::tile
