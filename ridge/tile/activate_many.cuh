// An activation of many elements of a thread's at a time, each activation's code there once.
#pragma once
#include <ridge/tile/activation.cuh>
#include <ridge/tile/quick_gelu.cuh>

namespace ridge::tile {

// Four elements at a time; gelu's two for 16-bit results, which are short, all of them. T: of the result.
// Turns: how many elements have gelu at a time; few where another warpgroup's products are to go on beside it.
template <class T, int Turns = 0, int N>
__device__ __forceinline__ void activate_many(Activation activation, float (&x)[N]) {
  static_assert(N % 4 == 0);
  if constexpr (sizeof(T) == 2) {
    if (activation == Activation::gelu) {
      constexpr int chains = Turns == 0 ? N : Turns;
      Turn turns[chains];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < N; ++i) x[i] = quick_gelu<T>(x[i], turns[i % chains]);
      return;
    }
    if (activation == Activation::gelu_tanh) {
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < N; ++i) x[i] = quick_gelu_tanh(x[i]);
      return;
    }
  }
  const auto all = [&]<Activation A>() {
    RIDGE_KEEP_LOOP
    for (int turn = 0; turn < N; turn += 4) {  // at places 0 to 3
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
    case Activation::gelu:
      if constexpr (sizeof(T) != 2) all.template operator()<Activation::gelu>();
      return;
    case Activation::gelu_tanh:
      if constexpr (sizeof(T) != 2) all.template operator()<Activation::gelu_tanh>();
      return;
    case Activation::silu: return all.template operator()<Activation::silu>();
    case Activation::sigmoid: return all.template operator()<Activation::sigmoid>();
    default: return;
  }
}

}  // namespace ridge::tile
