// TwoFloat: double-float (float-float) arithmetic: a sum of float32 values with what rounding took from it, as the
// unevaluated sum of two floats. It is nearly as accurate as float64, on devices whose float64 is slow.
//
// Additions and products are split into their rounded result and their exact error (Knuth's TwoSum, Dekker's product by
// a fused multiply-add; Ogita, Rump and Oishi's Sum2 and Dot2). All steps are those of simt/rounded.hpp, which no
// compiler contracts or reassociates, under any options of fast arithmetic. An element costs 7 additions in place of 1
// (a product 2 more): where memory feeds a multiprocessor of an H200 some 19 bytes per clock, 32 floats arrive in 7
// clocks, and 7 additions of them take 2.
#pragma once
#include <ridge/simt/rounded.hpp>

namespace ridge::tile {

struct TwoFloat {
  float high, low;  // the sum as float32 has it, and what it lacks
};

// The nearest float, and what it lacks.
RIDGE_HD constexpr TwoFloat two_floats(double value) {
  const auto high = static_cast<float>(value);
  return {high, static_cast<float>(value - static_cast<double>(high))};
}

__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) <= 3.402823466e38f; }

// The exact sum of two floats.
__device__ __forceinline__ TwoFloat two_sum(float a, float b) {
  const float sum = simt::add_rn(a, b), of_b = simt::sub_rn(sum, a), of_a = simt::sub_rn(sum, of_b);
  return {sum, simt::add_rn(simt::sub_rn(a, of_a), simt::sub_rn(b, of_b))};
}

// The exact product of two floats, unless its lower half lies below the subnormal numbers.
__device__ __forceinline__ TwoFloat two_product(float a, float b) {
  const float product = simt::mul_rn(a, b);
  return {product, simt::fma_rn(a, b, -product)};
}

// The product within 2^-46 of it.
__device__ __forceinline__ TwoFloat multiply(TwoFloat a, TwoFloat b) {
  const TwoFloat high = two_product(a.high, b.high);
  return {high.high, simt::fma_rn(a.high, b.low, simt::fma_rn(a.low, b.high, high.low))};
}
__device__ __forceinline__ TwoFloat multiply(TwoFloat a, float x) {
  const TwoFloat high = two_product(a.high, x);
  return {high.high, simt::fma_rn(a.low, x, high.low)};
}

// After d additions, of elements or of sums, the error of high + low is at most about (d eps)^2 of the sum of |x|.
__device__ __forceinline__ TwoFloat add(TwoFloat a, TwoFloat b) {
  const TwoFloat sum = two_sum(a.high, b.high);
  return {sum.high, simt::add_rn(simt::add_rn(a.low, b.low), sum.low)};
}
__device__ __forceinline__ TwoFloat minus(TwoFloat a) { return {-a.high, -a.low}; }
__device__ __forceinline__ TwoFloat add(TwoFloat a, float x) {
  const TwoFloat sum = two_sum(a.high, x);
  return {sum.high, simt::add_rn(a.low, sum.low)};
}

// The same number with its nearest float as the high part. One whose nearest float is infinite has no low part.
__device__ __forceinline__ TwoFloat normalised(TwoFloat a) {
  const TwoFloat sum = two_sum(a.high, a.low);
  return is_finite(sum.high) ? sum : TwoFloat{a.high, 0};
}

// The greater of two normalised numbers; of a number and NaN, a.
__device__ __forceinline__ TwoFloat greater(TwoFloat a, TwoFloat b) {
  return b.high > a.high || (b.high == a.high && b.low > a.low) ? b : a;
}

// Rounds once. A sum beyond float32's range has no low part: infinity less infinity would be NaN.
__device__ __forceinline__ float to_float(TwoFloat a) {
  return is_finite(a.high) ? simt::add_rn(a.high, a.low) : a.high;
}

// a / b within a rounding and a little, unless a or b leaves float32's range.
__device__ __forceinline__ float quotient(TwoFloat a, TwoFloat b) {
  const float first = __fdiv_rn(a.high, b.high);
  const float rest = simt::add_rn(simt::fma_rn(-first, b.high, a.high), simt::fma_rn(-first, b.low, a.low));
  return is_finite(first) && is_finite(rest) ? simt::add_rn(first, __fdiv_rn(rest, b.high)) : first;
}

}  // namespace ridge::tile
