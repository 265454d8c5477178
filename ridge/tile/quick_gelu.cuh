// gelu for results of 16 bits, in a third of the instructions of activation.cuh's.
#pragma once
#include <ridge/core/float16.hpp>
#include <ridge/simt/fast_math.hpp>
#include <ridge/tile/extreme.cuh>

namespace ridge::tile {

// A coefficient of P, where 2^P(a) is the normal distribution below -a, for a >= 0. Minimax of |error| / (1 + a^2 / 8) up
// to 5.9, below which gelu in f16 is 0; for bf16 of |error| / (1 + a^2 / 12) up to 9.5, below which gelu is 1e-20. From
// there P falls on. In f16 2^P errs by less than 2^-16 of it (past 5.9, where results are 0, by up to 2^-10); in bf16 by
// 2^-14 up to a = 3, 2^-12.7 up to 6 and 2^-11.6 up to 9.5. Half a unit of the last place is at least 2^-12, and 2^-9.
template <class T> RIDGE_HD constexpr float log2_of_normal_tail(int power) {
  constexpr bool f16 = std::is_same_v<T, half>;
  constexpr float p[] = {f16 ? -0.999996305f : -1.00005233f,      f16 ? -1.15122676f : -1.15041578f,
                         f16 ? -0.458551139f : -0.46052283f,      f16 ? -0.0538502447f : -0.0520712808f,
                         f16 ? 0.00844439026f : 0.0076938984f,    f16 ? -0.000912264572f : -0.000752791413f,
                         f16 ? 5.90570708e-05f : 4.25508479e-05f, f16 ? -1.69848204e-06f : -1.03846628e-06f};
  return p[power];
}

// relu(x) - |x| Phi(-|x|): 11 instructions, one of which is of the special-function unit. T: of the result, f16 or bf16.
template <class T> __device__ __forceinline__ float quick_gelu(float x) {
  constexpr float nothing = 16;  // 2^P is 0 from here on; infinity, times 0, would be NaN
  const float a = Extreme<false>::pick(fabsf(x), nothing);
  float log2_of_tail = log2_of_normal_tail<T>(7);
  RIDGE_UNROLL_ON_GPU
  for (int i = 6; i >= 0; --i) log2_of_tail = log2_of_tail * a + log2_of_normal_tail<T>(i);
  return Extreme<true>::pick(x, 0.0f) - a * simt::fast_exp2(log2_of_tail);
}

}  // namespace ridge::tile
