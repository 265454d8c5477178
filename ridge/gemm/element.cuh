// Properties of an element type: the type held in shared memory, the accumulator type, and the multiply-add of them.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/gemm/config.hpp>
#include <ridge/simt/dot4.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/two_float.cuh>

namespace ridge::gemm_kernels {

// float for float and all narrower floats; a word of four int8; double.
template <class T>
using Staged = std::conditional_t<std::is_same_v<T, double>, double,
                                  std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>>;
template <class T> using Accumulator = Staged<T>;
// A sum of products in registers.
template <class T, bool TwoFloat> using Sum = std::conditional_t<TwoFloat, tile::TwoFloat, Accumulator<T>>;

template <class T> inline constexpr int staged_pack = pack(dtype_of<T>);
template <class T> inline constexpr int fragment_of = fragment(dtype_of<T>);

// Integers wrap; in C++ only unsigned ones may.
template <class X> __device__ __forceinline__ X added(X a, X b) {
  if constexpr (std::is_integral_v<X>) return static_cast<X>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  else return a + b;
}

// sum + a b, of staged elements. T tells words of four int8 from plain integers.
template <class T>
__device__ __forceinline__ Accumulator<T> multiply_add(Staged<T> a, Staged<T> b, Accumulator<T> sum) {
  if constexpr (staged_pack<T> == 4) return simt::dot4(a, b, sum);
  else return sum + a * b;
}

template <class T> __device__ __forceinline__ tile::TwoFloat multiply_add(float a, float b, tile::TwoFloat sum) {
  return tile::add(sum, tile::two_product(a, b));
}

// The same for single elements.
template <class T> __device__ __forceinline__ Accumulator<T> multiply_add_one(T a, T b, Accumulator<T> sum) {
  return added(sum, static_cast<Accumulator<T>>(a) * static_cast<Accumulator<T>>(b));
}
template <class T> __device__ __forceinline__ tile::TwoFloat multiply_add_one(T a, T b, tile::TwoFloat sum) {
  return multiply_add<T>(a, b, sum);
}

// As the epilogue takes it.
template <class X> __device__ __forceinline__ X accumulated(X sum) { return sum; }
__device__ __forceinline__ float accumulated(tile::TwoFloat sum) { return tile::to_float(sum); }

}  // namespace ridge::gemm_kernels
