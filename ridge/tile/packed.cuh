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
  simt::store_global(p, unpack<T>(packed));
}

// The unit of one value throughout.
template <class T> __device__ __forceinline__ Packed packed_fill(float value) {
  Unit<T> unit;
#pragma unroll
  for (int v = 0; v < unit_elements<T>; ++v) unit[v] = T(value);
  return pack<T>(unit);
}

}  // namespace ridge::tile
