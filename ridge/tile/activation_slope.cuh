// Slopes of activations, for gradients through them.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

// 1 / (1 + e^-x) and its slope, of e^-|x|, so that no difference of numbers near 1 is taken.
struct Logistic {
  float value, slope;
  explicit __device__ __forceinline__ Logistic(float x) {
    const float e = expf(-fabsf(x)), r = 1 / (1 + e);
    value = x < 0 ? e * r : r;
    slope = e * r * r;
  }
};

// Multiplies each d by the activation's slope at z; NaN stays. An infinite z times a slope of 0 would be NaN, and
// what is left without it is the limit.
template <int N>
__device__ __forceinline__ void times_slope(Activation activation, const float (&z)[N], float (&d)[N]) {
  const auto each = [&](auto slope) {
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] *= slope(z[i]);
  };
  switch (activation) {
    case Activation::relu: return each([](float x) { return x > 0 ? 1.0f : x <= 0 ? 0.0f : x; });
    case Activation::sigmoid: return each([](float x) { return Logistic(x).slope; });
    case Activation::silu:
      return each([](float x) {
        const Logistic gate(x);
        return gate.slope == 0 ? gate.value : fmaf(x, gate.slope, gate.value);
      });
    case Activation::gelu:
      return each([](float x) {  // Phi(x) + x phi(x)
        constexpr float inverse_sqrt2 = 0.70710678118654752440f, inverse_sqrt_2_pi = 0.39894228040143267794f;
        const float below = 0.5f * erfcf(-x * inverse_sqrt2), density = inverse_sqrt_2_pi * expf(-0.5f * x * x);
        return density == 0 ? below : fmaf(x, density, below);
      });
    case Activation::gelu_tanh:
      return each([](float x) {  // of x logistic(u), with u as in tile/activation.cuh
        constexpr float two_sqrt_2_over_pi = 1.59576912160573071176f, cubic = 0.044715f;
        const Logistic gate(two_sqrt_2_over_pi * x * (1 + cubic * x * x));
        const float slope_of_u = two_sqrt_2_over_pi * (1 + 3 * cubic * x * x);
        return gate.slope == 0 ? gate.value : fmaf(x * gate.slope, slope_of_u, gate.value);
      });
    case Activation::relu6: return each([](float x) { return x > 0 && x < 6 ? 1.0f : x == x ? 0.0f : x; });
    case Activation::hardswish:
      return each([](float x) { return x <= -3 ? 0.0f : x > 3 ? 1.0f : fmaf(x, 1.0f / 3, 0.5f); });
    case Activation::hardsigmoid: return each([](float x) { return x > -3 && x < 3 ? 1.0f / 6 : x == x ? 0.0f : x; });
    case Activation::none: return;
  }
}

}  // namespace ridge::tile
