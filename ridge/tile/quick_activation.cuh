// gelu, its tanh form, silu and the logistic function for results of 16 bits, in a third to a half of activation.cuh's
// instructions.
#pragma once
#include <ridge/core/float16.hpp>
#include <ridge/simt/fast_math.hpp>
#include <ridge/tile/extreme.cuh>

namespace ridge::tile {

// A coefficient of P, where 2^P(a) is the normal distribution below -a, for a >= 0. Minimax of |error| / (1 + a^2 / 8)
// up to 5.9, beyond which gelu in f16 is 0; for bf16 of |error| / (1 + a^2 / 12) up to 9.5, beyond which gelu is 1e-20.
// P goes on falling from there. In f16 2^P errs by less than 2^-16 of it (past 5.9, where results are 0, by up to
// 2^-10); in bf16 by 2^-14 up to a = 3, 2^-12.7 up to 6 and 2^-11.6 up to 9.5. Half a unit of the last place is at
// least 2^-12, and 2^-9.
template <class T> RIDGE_HD constexpr float log2_of_normal_tail(int power) {
  constexpr bool f16 = std::is_same_v<T, half>;
  constexpr float p[] = {f16 ? -0.999996305f : -1.00005233f,      f16 ? -1.15122676f : -1.15041578f,
                         f16 ? -0.458551139f : -0.46052283f,      f16 ? -0.0538502447f : -0.0520712808f,
                         f16 ? 0.00844439026f : 0.0076938984f,    f16 ? -0.000912264572f : -0.000752791413f,
                         f16 ? 5.90570708e-05f : 4.25508479e-05f, f16 ? -1.69848204e-06f : -1.03846628e-06f};
  return p[power];
}

// A chain of dependent elements: each begins when the one before it is known. With more elements at a time their
// instructions fill every clock of a scheduler, and another warp's products on tensor cores stand still meanwhile.
class Chain {
 public:
  __device__ __forceinline__ float limit() const { return limit_; }
  // The next element begins when y, at most 1 or NaN, is known.
  __device__ __forceinline__ void pass(float y) { limit_ = fmaxf(limit_, y); }

 private:
  float limit_ = 16;  // of |x|: 2^P is 0 from here on; infinity, times 0, would be NaN
};

// relu(x) - |x| Phi(-|x|): 12 instructions, one of the special-function unit. T: of the result, f16 or bf16.
template <class T> __device__ __forceinline__ float quick_gelu(float x, Chain& chain) {
  const float a = Extreme<false>::pick(fabsf(x), chain.limit());
  float log2_of_tail = log2_of_normal_tail<T>(7);
  RIDGE_UNROLL_ON_GPU
  for (int i = 6; i >= 0; --i) log2_of_tail = log2_of_tail * a + log2_of_normal_tail<T>(i);
  const float tail = simt::fast_exp2(log2_of_tail);
  chain.pass(tail);
  return Extreme<true>::pick(x, 0.0f) - a * tail;
}
template <class T> __device__ __forceinline__ float quick_gelu(float x) {
  Chain alone;
  return quick_gelu<T>(x, alone);
}

// x / (1 + e^(-2u)) with u = sqrt(2/pi)(x + 0.044715 x^3): 8 instructions, two of the special-function unit.
__device__ __forceinline__ float quick_gelu_tanh(float x) {
  constexpr float log2_e = 1.44269504088896341f, linear = -1.59576912160573071f * log2_e, cubic = 0.044715f * linear;
  x = Extreme<true>::pick(x, -std::numeric_limits<float>::max());  // minus infinity, times 0, would be NaN
  return x * simt::fast_reciprocal(1 + simt::fast_exp2(x * (cubic * (x * x) + linear)));
}

// 1 / (1 + e^-x): 4 instructions, two of the special-function unit.
__device__ __forceinline__ float quick_logistic(float x) {
  constexpr float log2_e = 1.44269504088896341f;
  return simt::fast_reciprocal(1 + simt::fast_exp2(-log2_e * x));
}
// x / (1 + e^-x): 6 instructions.
__device__ __forceinline__ float quick_silu(float x) {
  x = Extreme<true>::pick(x, -std::numeric_limits<float>::max());  // minus infinity, times 0, would be NaN
  return x * quick_logistic(x);
}

}  // namespace ridge::tile
