// Activations of one element, for elementwise operators and for epilogues.
//
// `T` is what the result will be stored as, X what it is computed in (float or double). 16-bit floats arrive as float
// and are rounded once, by the kernel.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

// e^x and 1 / (1 + e^-x), for results that are stored as T. Where T has 16 bits, the special-function unit's e^x is
// good for it: its error of |x| 2^-23 is below half a unit of T's last place for every x whose result is neither 0 nor
// infinite.
template <class T, class X> __device__ __forceinline__ X exponential_for(X x) {
  if constexpr (std::is_same_v<X, double>) return ::exp(x);
  else if constexpr (sizeof(T) == 2) return __expf(x);
  else return expf(x);
}
// For x below -88 e^-x overflows to infinity, and 1/inf is the right 0.
template <class T, class X> __device__ __forceinline__ X logistic(X x) {
  const X denominator = X(1) + exponential_for<T>(-x);
  if constexpr (sizeof(T) == 2) return __fdividef(1.0f, denominator);
  else return X(1) / denominator;
}
__device__ __forceinline__ float hyperbolic_tangent(float x) { return tanhf(x); }
__device__ __forceinline__ double hyperbolic_tangent(double x) { return ::tanh(x); }
__device__ __forceinline__ float complementary_error_function(float x) { return erfcf(x); }
__device__ __forceinline__ double complementary_error_function(double x) { return ::erfc(x); }

// Written so that NaN, which compares false, passes through.
template <class X> __device__ __forceinline__ X relu(X x) { return x < X(0) ? X(0) : x; }

// min(max(x, 0), 6), written likewise.
template <class X> __device__ __forceinline__ X relu6(X x) {
  const X y = relu(x);
  return y > X(6) ? X(6) : y;
}
// relu6(x + 3) / 6
template <class X> __device__ __forceinline__ X hardsigmoid(X x) { return relu6(x + X(3)) * X(1.0 / 6); }
// x relu6(x + 3) / 6. x = -inf: the limit is 0.
template <class X> __device__ __forceinline__ X hardswish(X x) {
  const X gate = hardsigmoid(x);
  return gate == X(0) ? X(0) : x * gate;
}

// erfc for results of 16 bits: W. J. Cody's form as Numerical Recipes has it (erfcc), relative
// error 1.2e-7 and that of the exponential. Half the instructions of erfcf.
__device__ __forceinline__ float quick_erfc(float x) {
  const float z = fabsf(x), t = __fdividef(1.0f, 1.0f + 0.5f * z);
  float p = 0.17087277f;
  p = p * t - 0.82215223f;
  p = p * t + 1.48851587f;
  p = p * t - 1.13520398f;
  p = p * t + 0.27886807f;
  p = p * t - 0.18628806f;
  p = p * t + 0.09678418f;
  p = p * t + 0.37409196f;
  p = p * t + 1.00002368f;
  p = p * t - 1.26551223f;
  const float tail = t * __expf(p - z * z);
  return x < 0.0f ? 2.0f - tail : tail;
}

template <class T, class X> __device__ __forceinline__ X complementary_error_function_for(X x) {
  if constexpr (sizeof(T) == 2) return quick_erfc(x);
  else return complementary_error_function(x);
}

// x Phi(x); by erfc, because 1 + erf loses all its digits for x below -4. x = -inf: the limit is 0.
template <class T, class X> __device__ __forceinline__ X gelu(X x) {
  constexpr X inverse_sqrt2 = X(0.70710678118654752440);
  const X phi = X(0.5) * complementary_error_function_for<T>(-x * inverse_sqrt2);
  return phi == X(0) ? X(0) : x * phi;
}
// 0.5 x (1 + tanh(u)) with u = sqrt(2/pi)(x + 0.044715 x^3), which is x logistic(2u)
template <class T, class X> __device__ __forceinline__ X gelu_tanh(X x) {
  constexpr X two_sqrt_2_over_pi = X(1.59576912160573071176), cubic = X(0.044715);
  const X gate = logistic<T>(two_sqrt_2_over_pi * x * (X(1) + cubic * x * x));
  return gate == X(0) ? X(0) : x * gate;
}
template <class T, class X> __device__ __forceinline__ X silu(X x) {
  const X gate = logistic<T>(x);
  return gate == X(0) ? X(0) : x * gate;
}

// The activation that a run names.
template <class T, class X> __device__ __forceinline__ X activate(Activation activation, X x) {
  switch (activation) {
    case Activation::relu: return relu(x);
    case Activation::gelu: return gelu<T>(x);
    case Activation::gelu_tanh: return gelu_tanh<T>(x);
    case Activation::silu: return silu<T>(x);
    case Activation::sigmoid: return logistic<T>(x);
    case Activation::relu6: return relu6(x);
    case Activation::hardswish: return hardswish(x);
    case Activation::hardsigmoid: return hardsigmoid(x);
    case Activation::none: break;
  }
  return x;
}

}  // namespace ridge::tile
