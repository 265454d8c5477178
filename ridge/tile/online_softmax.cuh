// The algebra of online softmax: the running maximum of a set of values and the sum of their exponentials relative to
// it; two such pairs merge. Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
//
// A set of nothing but -inf has the base 0 instead of -inf, so that -inf - -inf never appears where later values are
// finite. NaN and +inf reach the sum and stay there, which makes the whole row NaN, as it must be.
#pragma once
#include <ridge/simt/fast_math.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

__device__ __forceinline__ float exponential(float x) { return __expf(x); }
__device__ __forceinline__ double exponential(double x) { return ::exp(x); }
__device__ __forceinline__ float greater(float a, float b) { return fmaxf(a, b); }  // of a number and NaN, the number
__device__ __forceinline__ double greater(double a, double b) { return fmax(a, b); }

template <class X> inline constexpr X minus_infinity = -static_cast<X>(__builtin_huge_val());

// What exponentials are taken relative to.
template <class X> __device__ __forceinline__ X softmax_base(X max) { return max == minus_infinity<X> ? X(0) : max; }

template <class X> struct OnlineSoftmax {
  X max;
  X sum;  // of exp(x - softmax_base(max))

  // The pair of no values. Not a default member initialiser, because shared memory cannot be initialised.
  static __device__ __forceinline__ OnlineSoftmax nothing() { return {minus_infinity<X>, X(0)}; }

  __device__ __forceinline__ void add(X x) {
    const X larger = greater(max, x), base = softmax_base(larger);
    sum = sum * exponential(max - base) + exponential(x - base);
    max = larger;
  }
};

template <class X> __device__ __forceinline__ OnlineSoftmax<X> merge(OnlineSoftmax<X> a, OnlineSoftmax<X> b) {
  OnlineSoftmax<X> r;
  r.max = greater(a.max, b.max);
  const X base = softmax_base(r.max);
  // exp(-inf) = 0 makes an empty side vanish.
  r.sum = a.sum * exponential(a.max - base) + b.sum * exponential(b.max - base);
  return r;
}

// exp(x - base) in two instructions, as 2^(x log2(e) - base log2(e)) with one rounding of the exponent. The offset
// base log2(e) is rounded too; that error is the same factor 2^slip in every exponential of the row, so it cancels in
// their ratios, and log_of_sum() takes it out.
struct ScaledExponential {
  static constexpr float log2_e = 1.44269504f, ln_2 = 0.693147181f;
  float base, offset;

  // Beyond this maximum 2^slip, from the rounding of the offset, might leave float32's range.
  static constexpr float most = 1e8f;
  // Whether rows of this maximum may use it; -inf, whose base is 0, may.
  static __device__ __forceinline__ bool takes(float max) {
    return max < most && (max > -most || max == minus_infinity<float>);
  }
  __device__ __forceinline__ explicit ScaledExponential(float b) : base(b), offset(b * log2_e) {}
  __device__ __forceinline__ float operator()(float x) const { return simt::fast_exp2(fmaf(x, log2_e, -offset)); }
  // The logarithm of the sum of exp(x - base), from the sum of operator()'s results. Where base is the greatest x, its
  // own term is 1 and the logarithm is not negative: rounded to below 0 it would be a probability above 1. The sum of
  // nothing but -inf stays as it is.
  __device__ __forceinline__ float log_of_sum(float sum) const {
    const float slip = fmaf(base, log2_e, -offset), log = logf(sum) - slip * ln_2;
    return log < 0 && sum > 0 ? 0.0f : log;
  }
};

}  // namespace ridge::tile
