// The exponential and the logarithm of a double-float.
#pragma once
#include <ridge/tile/two_float.cuh>

namespace ridge::tile {

// e^x within 2^-35 of it, and 2^-150: a result near float32's least numbers loses what its low part would have there.
// Precondition: x is normalised.
//   x = n ln 2 + 8 r, |r| < 0.044      e^x = 2^n (e^r)^8
// The square of e^r is taken three times, without the 1 that it is near to: (1 + e)^2 - 1 = 2 e + e^2.
__device__ __forceinline__ TwoFloat exponential(TwoFloat x) {
  constexpr TwoFloat ln_2 = two_floats(0.69314718055994531);
  if (!(x.high < 89)) return {x.high > 0 ? __int_as_float(0x7f800000) : x.high, 0};  // infinite; NaN stays
  if (x.high < -104) return {0, 0};
  const float n = rintf(simt::mul_rn(x.high, 1.44269504f));
  const TwoFloat left = normalised(add(x, multiply(ln_2, -n)));
  const float r = 0.125f * left.high, r_low = 0.125f * left.low;
  // r + r^2 / 2 in double-floats, the powers from the third on as a float; what follows r^6 / 720 is less than 2^-44.
  const TwoFloat square = two_product(r, r);
  const float series = simt::fma_rn(r, simt::fma_rn(r, simt::fma_rn(r, 1.0f / 720, 1.0f / 120), 1.0f / 24), 1.0f / 6);
  TwoFloat e = two_sum(r, 0.5f * square.high);
  e.low = simt::add_rn(e.low, simt::fma_rn(r_low, r, simt::fma_rn(0.5f, square.low, r_low)));
  e = normalised(add(e, simt::mul_rn(simt::mul_rn(r, square.high), series)));
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < 3; ++i) e = add(TwoFloat{2 * e.high, 2 * e.low}, multiply(e, e));
  const TwoFloat sum = two_sum(1, e.high);
  // In two factors, since 2^n may be beyond the normal numbers where the result is not.
  const int all = static_cast<int>(n), half = all / 2;
  const float scale = __int_as_float((half + 127) << 23), rest = __int_as_float((all - half + 127) << 23);
  const float result = sum.high * scale * rest;
  return {result, is_finite(result) ? simt::add_rn(sum.low, e.low) * scale * rest : 0};
}

// ln x within two units in the last place of it, also near 1, where the low part of x is as large as its logarithm.
__device__ __forceinline__ TwoFloat logarithm(TwoFloat x) {
  const TwoFloat near = normalised(x);
  const float high = logf(near.high);
  if (!(near.high > 0 && is_finite(near.high))) return {high, 0};  // -inf, infinite or NaN
  return two_sum(high, __fdiv_rn(near.low, near.high));
}

}  // namespace ridge::tile
