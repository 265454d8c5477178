// The functions themselves, on one element. 16-bit floats arrive as float and are rounded once, by the kernel.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::elementwise_detail {

// What an element is computed in.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<half> { using type = float; };
template <> struct ComputeType<bfloat16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;

// Signed overflow wraps, as NumPy's and PyTorch's does; in C++ only unsigned arithmetic may.
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

// e^x and 1 / (1 + e^-x), for results that are stored as T. Where T has 16 bits, the special-function unit's e^x is
// good for it: its error of |x| 2^-23 is below half a unit of T for every x whose result is neither 0 nor infinite.
template <class T, class X> __device__ __forceinline__ X exponential(X x) {
  if constexpr (std::is_same_v<X, double>) return ::exp(x);
  else if constexpr (sizeof(T) == 2) return __expf(x);
  else return expf(x);
}
// For x below -88 e^-x overflows to infinity, and 1/inf is the right 0.
template <class T, class X> __device__ __forceinline__ X logistic(X x) {
  const X denominator = X(1) + exponential<T>(-x);
  if constexpr (sizeof(T) == 2) return __fdividef(1.0f, denominator);
  else return X(1) / denominator;
}
__device__ __forceinline__ float hyperbolic_tangent(float x) { return tanhf(x); }
__device__ __forceinline__ double hyperbolic_tangent(double x) { return ::tanh(x); }
__device__ __forceinline__ float complementary_error_function(float x) { return erfcf(x); }
__device__ __forceinline__ double complementary_error_function(double x) { return ::erfc(x); }

// Each function of one or two elements, stored as T and computed as X.
struct Add {
  template <class T, class X> static __device__ __forceinline__ X apply(X a, X b) { return wrapping_add(a, b); }
};
struct Mul {
  template <class T, class X> static __device__ __forceinline__ X apply(X a, X b) { return wrapping_mul(a, b); }
};
struct Relu {  // written so that NaN, which compares false, passes through
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return x < X(0) ? X(0) : x; }
};
struct Sigmoid {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return logistic<T>(x); }
};
struct Tanh {  // by the math library: 2 logistic(2x) - 1 would lose its digits near 0
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return hyperbolic_tangent(x); }
};
struct Gelu {  // x Phi(x); by erfc, because 1 + erf loses all its digits for x below -4. x = -inf: the limit is 0
  template <class T, class X> static __device__ __forceinline__ X apply(X x) {
    constexpr X inverse_sqrt2 = X(0.70710678118654752440);
    const X phi = X(0.5) * complementary_error_function(-x * inverse_sqrt2);
    return phi == X(0) ? X(0) : x * phi;
  }
};
struct GeluTanh {  // 0.5 x (1 + tanh(u)) with u = sqrt(2/pi)(x + 0.044715 x^3), which is x logistic(2u)
  template <class T, class X> static __device__ __forceinline__ X apply(X x) {
    constexpr X two_sqrt_2_over_pi = X(1.59576912160573071176), cubic = X(0.044715);
    const X gate = logistic<T>(two_sqrt_2_over_pi * x * (X(1) + cubic * x * x));
    return gate == X(0) ? X(0) : x * gate;
  }
};
struct Silu {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) {
    const X gate = logistic<T>(x);
    return gate == X(0) ? X(0) : x * gate;
  }
};
struct Exp {
  template <class T, class X> static __device__ __forceinline__ X apply(X x) { return exponential<T>(x); }
};
struct Copy {};  // moves bits; has nothing to compute

template <class F> inline constexpr bool is_binary = std::is_same_v<F, Add> || std::is_same_v<F, Mul>;

template <class F, class T> __device__ __forceinline__ T evaluate(T a, T b) {
  using X = Compute<T>;
  if constexpr (is_binary<F>) return T(F::template apply<T>(X(a), X(b)));
  else if constexpr (std::is_same_v<F, Copy>) return a;
  else return T(F::template apply<T>(X(a)));
}

}  // namespace ridge::elementwise_detail
