// Loads and stores of V neighbouring elements as floats: one element, or the 16-byte vector that they fill.
#pragma once
#include <ridge/pool/variants.hpp>
#include <ridge/tile/packed.cuh>

namespace ridge::pool_detail {

// The elements that a thread loads at once.
template <class T, Vectors Of>
inline constexpr int elements_at_once = Of == Vectors::none ? 1 : tile::vector_elements<T>;

// Precondition: V is 1, or vector_elements and p is aligned to 16 bytes.
template <class T, int V> __device__ __forceinline__ simt::vec<float, V> load_floats(const T* p) {
  if constexpr (V == 1) return {{float(*p)}};
  else return tile::unpack_floats<T>(tile::load_packed(p));
}
template <class T, int V> __device__ __forceinline__ void store_floats(T* p, const simt::vec<float, V>& floats) {
  if constexpr (V == 1) *p = T(floats[0]);
  else tile::store_packed(p, tile::pack_floats<T>(floats));
}

}  // namespace ridge::pool_detail
