// The functions of __half and __nv_bfloat16, as friends: a call finds those of its argument's type.
#pragma once
#include <ridge/lab/small_float.hpp>
#include <ridge/lab/vector_types.hpp>
#include <ridge/simt/cpu/math.hpp>

#include <cmath>

namespace ridge::lab {

RIDGE_LAB_UNCOUNTED constexpr double saturated(double x) { return x > 0 ? x < 1 ? x : 1.0 : 0.0; }  // NaN: 0

// In double: sums, products, quotients and roots of 16-bit numbers, rounded to 53 bits, lie on the same side of every
// midpoint of 16-bit numbers as the exact ones (twice 11 bits and two more would be enough). A product is exact; so a
// fused multiply-add has only the sum's rounding, which sum_to_odd avoids.
template <class Small> struct SmallFloatFunctions {
  // ---- arithmetic ---------------------------------------------------------------------------------------------------
  RIDGE_LAB_UNCOUNTED friend double in_double(Small x) { return Small::format::value(x.bits); }
  RIDGE_LAB_UNCOUNTED friend double fma_in_double(Small a, Small b, Small c) {
    return sum_to_odd(in_double(a) * in_double(b), in_double(c));
  }

  friend Small __hadd(Small a, Small b) { return Small::of(in_double(a) + in_double(b)); }
  friend Small __hadd_rn(Small a, Small b) { return Small::of(in_double(a) + in_double(b)); }
  friend Small __hadd_sat(Small a, Small b) { return Small::of(saturated(in_double(a) + in_double(b))); }
  friend Small __hsub(Small a, Small b) { return Small::of(in_double(a) - in_double(b)); }
  friend Small __hsub_rn(Small a, Small b) { return Small::of(in_double(a) - in_double(b)); }
  friend Small __hsub_sat(Small a, Small b) { return Small::of(saturated(in_double(a) - in_double(b))); }
  friend Small __hmul(Small a, Small b) { return Small::of(in_double(a) * in_double(b)); }
  friend Small __hmul_rn(Small a, Small b) { return Small::of(in_double(a) * in_double(b)); }
  friend Small __hmul_sat(Small a, Small b) { return Small::of(saturated(in_double(a) * in_double(b))); }
  friend Small __hdiv(Small a, Small b) { return Small::of(in_double(a) / in_double(b)); }
  friend Small __hfma(Small a, Small b, Small c) { return Small::of(fma_in_double(a, b, c)); }
  friend Small __hfma_sat(Small a, Small b, Small c) { return Small::of(saturated(fma_in_double(a, b, c))); }
  RIDGE_LAB_UNCOUNTED friend Small __hfma_relu(Small a, Small b, Small c) {
    const double x = fma_in_double(a, b, c);
    return Small::of(x < 0 ? 0.0 : x);
  }
  friend Small __hneg(Small x) { return Small::of_bits(x.bits ^ sign_bit); }
  friend Small __habs(Small x) { return Small::of_bits(x.bits & ~sign_bit); }

  friend Small operator+(const Small& a, const Small& b) { return __hadd(a, b); }
  friend Small operator-(const Small& a, const Small& b) { return __hsub(a, b); }
  friend Small operator*(const Small& a, const Small& b) { return __hmul(a, b); }
  friend Small operator/(const Small& a, const Small& b) { return __hdiv(a, b); }
  friend Small& operator+=(Small& a, const Small& b) { return a = __hadd(a, b); }
  friend Small& operator-=(Small& a, const Small& b) { return a = __hsub(a, b); }
  friend Small& operator*=(Small& a, const Small& b) { return a = __hmul(a, b); }
  friend Small& operator/=(Small& a, const Small& b) { return a = __hdiv(a, b); }
  friend Small operator+(const Small& x) { return x; }
  friend Small operator-(const Small& x) { return __hneg(x); }
  friend Small& operator++(Small& x) { return x = __hadd(x, Small(1)); }
  friend Small& operator--(Small& x) { return x = __hsub(x, Small(1)); }
  friend Small operator++(Small& x, int) {
    const Small old = x;
    ++x;
    return old;
  }
  friend Small operator--(Small& x, int) {
    const Small old = x;
    --x;
    return old;
  }

  // ---- comparison: those that end in u are true if an operand is NaN ------------------------------------------------
  RIDGE_LAB_UNCOUNTED friend bool unordered(Small a, Small b) { return __hisnan(a) || __hisnan(b); }
  RIDGE_LAB_UNCOUNTED friend bool __hisnan(Small x) { return (x.bits & ~sign_bit) > Small::format::infinity; }
  RIDGE_LAB_UNCOUNTED friend int __hisinf(Small x) {
    return (x.bits & ~sign_bit) != Small::format::infinity ? 0 : x.bits & sign_bit ? -1 : 1;
  }

  friend bool __heq(Small a, Small b) { return in_double(a) == in_double(b); }
  friend bool __hequ(Small a, Small b) { return unordered(a, b) || in_double(a) == in_double(b); }
  friend bool __hne(Small a, Small b) { return !unordered(a, b) && in_double(a) != in_double(b); }
  friend bool __hneu(Small a, Small b) { return in_double(a) != in_double(b); }
  friend bool __hlt(Small a, Small b) { return in_double(a) < in_double(b); }
  friend bool __hltu(Small a, Small b) { return unordered(a, b) || in_double(a) < in_double(b); }
  friend bool __hle(Small a, Small b) { return in_double(a) <= in_double(b); }
  friend bool __hleu(Small a, Small b) { return unordered(a, b) || in_double(a) <= in_double(b); }
  friend bool __hgt(Small a, Small b) { return in_double(a) > in_double(b); }
  friend bool __hgtu(Small a, Small b) { return unordered(a, b) || in_double(a) > in_double(b); }
  friend bool __hge(Small a, Small b) { return in_double(a) >= in_double(b); }
  friend bool __hgeu(Small a, Small b) { return unordered(a, b) || in_double(a) >= in_double(b); }

  friend bool operator==(const Small& a, const Small& b) { return in_double(a) == in_double(b); }
  friend bool operator!=(const Small& a, const Small& b) { return in_double(a) != in_double(b); }
  friend bool operator<(const Small& a, const Small& b) { return in_double(a) < in_double(b); }
  friend bool operator<=(const Small& a, const Small& b) { return in_double(a) <= in_double(b); }
  friend bool operator>(const Small& a, const Small& b) { return in_double(a) > in_double(b); }
  friend bool operator>=(const Small& a, const Small& b) { return in_double(a) >= in_double(b); }

  // A NaN gives way to the other operand, but not for the _nan forms; -0 is less than +0.
  RIDGE_LAB_UNCOUNTED friend Small __hmax(Small a, Small b) {
    if (__hisnan(a)) return __hisnan(b) ? Small::of_bits(canonical_nan) : b;
    return in_double(b) > in_double(a) || (in_double(a) == in_double(b) && a.bits & sign_bit) ? b : a;
  }
  RIDGE_LAB_UNCOUNTED friend Small __hmin(Small a, Small b) {
    if (__hisnan(a)) return __hisnan(b) ? Small::of_bits(canonical_nan) : b;
    return in_double(b) < in_double(a) || (in_double(a) == in_double(b) && b.bits & sign_bit) ? b : a;
  }
  friend Small __hmax_nan(Small a, Small b) { return unordered(a, b) ? Small::of_bits(canonical_nan) : __hmax(a, b); }
  friend Small __hmin_nan(Small a, Small b) { return unordered(a, b) ? Small::of_bits(canonical_nan) : __hmin(a, b); }

  // ---- functions of one number --------------------------------------------------------------------------------------
  friend Small hsqrt(Small x) { return Small::of(std::sqrt(in_double(x))); }
  friend Small hrsqrt(Small x) { return Small::of(1 / std::sqrt(in_double(x))); }
  friend Small hrcp(Small x) { return Small::of(1 / in_double(x)); }
  friend Small hexp(Small x) { return Small::of(std::exp(in_double(x))); }
  friend Small hexp2(Small x) { return Small::of(std::exp2(in_double(x))); }
  friend Small hexp10(Small x) { return Small::of(::exp10(in_double(x))); }
  friend Small hlog(Small x) { return Small::of(std::log(in_double(x))); }
  friend Small hlog2(Small x) { return Small::of(std::log2(in_double(x))); }
  friend Small hlog10(Small x) { return Small::of(std::log10(in_double(x))); }
  friend Small hsin(Small x) { return Small::of(std::sin(in_double(x))); }
  friend Small hcos(Small x) { return Small::of(std::cos(in_double(x))); }
  friend Small htanh(Small x) { return Small::of(std::tanh(in_double(x))); }
  friend Small htanh_approx(Small x) { return Small::of(std::tanh(in_double(x))); }
  friend Small hfloor(Small x) { return Small::of(std::floor(in_double(x))); }
  friend Small hceil(Small x) { return Small::of(std::ceil(in_double(x))); }
  friend Small htrunc(Small x) { return Small::of(std::trunc(in_double(x))); }
  friend Small hrint(Small x) { return Small::of(std::nearbyint(in_double(x))); }
};

}  // namespace ridge::lab
