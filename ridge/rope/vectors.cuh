// A vector of 16 or 8 bytes from each of several heads: the data of a thread.
#pragma once
#include <ridge/rope/angles.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::rope_detail {

// V elements as the words that they are loaded in: nvcc would first split a struct of 16-bit members into a register
// each.
template <class T, int V> inline constexpr int words_of = V* static_cast<int>(sizeof(T)) / tile::word_bytes;
template <class T, int V> using Words = simt::vec<unsigned, words_of<T, V>>;
template <class T, int V> __device__ __forceinline__ simt::vec<T, V> elements_of(const Words<T, V>& words) {
  simt::vec<T, V> elements;
  memcpy(&elements, &words, sizeof elements);
  return elements;
}
template <class T, int V> __device__ __forceinline__ Words<T, V> load_words(const T* p) {
  if constexpr (RIDGE_SIMT_ON_CUDA) return simt::load<words_of<T, V>>(reinterpret_cast<const unsigned*>(p));
  else {
    const auto elements = simt::load<V>(p);
    Words<T, V> words;
    memcpy(&words, &elements, sizeof words);
    return words;
  }
}

// One vector of each of Config::heads heads; with Halves, if it rotates, also the vector of the second half, `pairs`
// elements after it. Heads are `step` elements apart. `heads` of them exist, perhaps fewer than Config::heads.
template <class Policy, class T, bool Halves> struct VectorOfHeads {
  static constexpr int V = Policy::config.vector_bytes / static_cast<int>(sizeof(T)), H = Policy::config.heads;
  static constexpr int parts = Halves ? 2 : 1;
  Words<T, V> in[H][parts];

  // All loads are in flight before the first use.
  __device__ __forceinline__ void load(const T* x, std::int64_t step, int heads, int pairs, bool rotates) {
#pragma unroll
    for (int h = 0; h < H; ++h)
#pragma unroll
      for (int part = 0; part < parts; ++part)
        in[h][part] =
            h < heads && (rotates || part == 0) ? load_words<T, V>(x + h * step + part * pairs) : Words<T, V>{};
  }

  // Stores the vectors unchanged.
  __device__ __forceinline__ void store(T* y, std::int64_t step, int heads) const {
#pragma unroll
    for (int h = 0; h < H; ++h)
      if (h < heads) simt::store_global(y + h * step, elements_of<T, V>(in[h][0]));
  }

  // Stores the vectors rotated. `vector`: index among a head's rotated vectors.
  __device__ __forceinline__ void store_rotated(T* y, std::int64_t step, int heads, int pairs, const Angles& angles,
                                                std::int64_t position, int vector) const {
    constexpr int N = Halves ? V : V / 2;  // pairs in a vector
    SinCos rotations[N];
#pragma unroll
    for (int i = 0; i < N; ++i) rotations[i] = angles(position, vector * N + i);
#pragma unroll
    for (int h = 0; h < H; ++h) {
      simt::vec<T, V> out[parts];
#pragma unroll
      for (int part = 0; part < parts; ++part) out[part] = elements_of<T, V>(in[h][part]);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        T& first = out[0][Halves ? i : 2 * i];
        T& second = out[parts - 1][Halves ? i : 2 * i + 1];
        float u = float(first), v = float(second);
        rotate(rotations[i], u, v);
        first = T(u);
        second = T(v);
      }
      if (h < heads) {
#pragma unroll
        for (int part = 0; part < parts; ++part) simt::store_global(y + h * step + part * pairs, out[part]);
      }
    }
  }
};

}  // namespace ridge::rope_detail
