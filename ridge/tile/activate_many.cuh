// An activation of a thread's many elements, with the code of each activation there once.
#pragma once
#include <ridge/tile/activation.cuh>
#include <ridge/tile/quick_activation.cuh>

namespace ridge::tile {

template <class T, int Chains, int N>
__device__ __forceinline__ void activate_all_quickly(Activation activation, float (&x)[N]) {
  const auto each = [&](auto f) {
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < N; ++i) x[i] = f(x[i]);
  };
  switch (activation) {
    case Activation::relu: return each([](float y) { return relu(y); });
    case Activation::gelu: {
      constexpr int chains = Chains == 0 ? N : Chains;
      Chain chain[chains];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < N; ++i) x[i] = quick_gelu<T>(x[i], chain[i % chains]);
      return;
    }
    case Activation::gelu_tanh: return each([](float y) { return quick_gelu_tanh(y); });
    case Activation::silu: return each([](float y) { return quick_silu(y); });
    case Activation::sigmoid: return each([](float y) { return quick_logistic(y); });
    case Activation::relu6: return each([](float y) { return relu6(y); });
    case Activation::hardswish: return each([](float y) { return hardswish(y); });
    case Activation::hardsigmoid: return each([](float y) { return hardsigmoid(y); });
    case Activation::none: return;
  }
}

template <class T, int N> __device__ __forceinline__ void activate_by_fours(Activation activation, float (&x)[N]) {
  static_assert(N % 4 == 0);
  const auto all = [&]<Activation A>() {
    RIDGE_KEEP_LOOP
    for (int first = 0; first < N; first += 4) {  // rotates x by four: registers take no index
      float y[4];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < 4; ++i) y[i] = activate<T>(A, x[i]);
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < N - 4; ++i) x[i] = x[i + 4];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < 4; ++i) x[N - 4 + i] = y[i];
    }
  };
  switch (activation) {
    case Activation::relu: return all.template operator()<Activation::relu>();
    case Activation::gelu: return all.template operator()<Activation::gelu>();
    case Activation::gelu_tanh: return all.template operator()<Activation::gelu_tanh>();
    case Activation::silu: return all.template operator()<Activation::silu>();
    case Activation::sigmoid: return all.template operator()<Activation::sigmoid>();
    case Activation::relu6: return all.template operator()<Activation::relu6>();
    case Activation::hardswish: return all.template operator()<Activation::hardswish>();
    case Activation::hardsigmoid: return all.template operator()<Activation::hardsigmoid>();
    case Activation::none: return;
  }
}

// Four elements at a time; for 16-bit results, whose activations are short, all of them. T: of the result.
// Chains: how many elements have gelu at a time; few where another warpgroup's products are to go on beside it. 0: all.
template <class T, int Chains = 0, int N>
__device__ __forceinline__ void activate_many(Activation activation, float (&x)[N]) {
  if constexpr (sizeof(T) == 2) activate_all_quickly<T, Chains>(activation, x);
  else activate_by_fours<T>(activation, x);
}

}  // namespace ridge::tile
