// The functions on one element. 16-bit floats are upcast to float and rounded once, by evaluate().
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/activation.cuh>

namespace ridge::elementwise_detail {

// The type that an element is computed in.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<half> { using type = float; };
template <> struct ComputeType<bfloat16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;

// Signed overflow wraps, as in NumPy and PyTorch; in C++ only unsigned arithmetic may wrap.
template <class X> __device__ __forceinline__ X wrapping_add(X a, X b) {
  if constexpr (std::is_integral_v<X>)
    return static_cast<X>(static_cast<std::make_unsigned_t<X>>(a) + static_cast<std::make_unsigned_t<X>>(b));
  else return a + b;
}
template <class X> __device__ __forceinline__ X wrapping_mul(X a, X b) {
  if constexpr (std::is_integral_v<X>)
    return static_cast<X>(static_cast<std::make_unsigned_t<X>>(a) * static_cast<std::make_unsigned_t<X>>(b));
  else return a * b;
}

// Functions of one or two elements, stored as T and computed as X.
struct Add {
  template <class T, class X> static __device__ __forceinline__ X apply(X a, X b) { return wrapping_add(a, b); }
};
struct Mul {
  template <class T, class X> static __device__ __forceinline__ X apply(X a, X b) { return wrapping_mul(a, b); }
};
struct Relu {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::relu(x); }
};
struct Sigmoid {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::logistic<T>(x); }
};
struct Tanh {  // of the math library: 2 logistic(2x) - 1 would cancel near 0
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::hyperbolic_tangent(x); }
};
struct Gelu {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::gelu<T>(x); }
};
struct GeluTanh {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::gelu_tanh<T>(x); }
};
struct Silu {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::silu<T>(x); }
};
struct Exp {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return tile::exponential_for<T>(x); }
};
struct Copy {};  // moves bits, computes nothing

template <class F> inline constexpr bool is_binary = std::is_same_v<F, Add> || std::is_same_v<F, Mul>;

template <class F, class T> __device__ __forceinline__ T evaluate(T a, T b) {
  using X = Compute<T>;
  if constexpr (is_binary<F>) return T(F::template apply<T>(X(a), X(b)));
  else if constexpr (std::is_same_v<F, Copy>) return a;
  else return T(F::template apply<T>(X(a)));
}

}  // namespace ridge::elementwise_detail
