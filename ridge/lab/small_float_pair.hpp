// The functions of __half2 and __nv_bfloat162, as friends.
#pragma once
#include <ridge/lab/small_float_functions.hpp>

namespace ridge::lab {

template <class Pair, class Small> struct SmallPairFunctions {
  static unsigned mask(bool low, bool high) { return (low ? 0xffffu : 0u) | (high ? 0xffff0000u : 0u); }

  // ---- arithmetic ---------------------------------------------------------------------------------------------------
  friend Pair __hadd2(Pair a, Pair b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }
  friend Pair __hadd2_rn(Pair a, Pair b) { return {__hadd_rn(a.x, b.x), __hadd_rn(a.y, b.y)}; }
  friend Pair __hadd2_sat(Pair a, Pair b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }
  friend Pair __hsub2(Pair a, Pair b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }
  friend Pair __hsub2_rn(Pair a, Pair b) { return {__hsub_rn(a.x, b.x), __hsub_rn(a.y, b.y)}; }
  friend Pair __hsub2_sat(Pair a, Pair b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }
  friend Pair __hmul2(Pair a, Pair b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }
  friend Pair __hmul2_rn(Pair a, Pair b) { return {__hmul_rn(a.x, b.x), __hmul_rn(a.y, b.y)}; }
  friend Pair __hmul2_sat(Pair a, Pair b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }
  friend Pair __h2div(Pair a, Pair b) { return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)}; }
  friend Pair __hfma2(Pair a, Pair b, Pair c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
  friend Pair __hfma2_sat(Pair a, Pair b, Pair c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; }
  friend Pair __hfma2_relu(Pair a, Pair b, Pair c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
  // A fused multiply-add of complex numbers: a real part, then an imaginary one.
  friend Pair __hcmadd(Pair a, Pair b, Pair c) {
    return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
  }
  friend Pair __hneg2(Pair a) { return {__hneg(a.x), __hneg(a.y)}; }
  friend Pair __habs2(Pair a) { return {__habs(a.x), __habs(a.y)}; }
  friend Pair __hmax2(Pair a, Pair b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
  friend Pair __hmax2_nan(Pair a, Pair b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }
  friend Pair __hmin2(Pair a, Pair b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
  friend Pair __hmin2_nan(Pair a, Pair b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }

  friend Pair operator+(const Pair& a, const Pair& b) { return {a.x + b.x, a.y + b.y}; }
  friend Pair operator-(const Pair& a, const Pair& b) { return {a.x - b.x, a.y - b.y}; }
  friend Pair operator*(const Pair& a, const Pair& b) { return {a.x * b.x, a.y * b.y}; }
  friend Pair operator/(const Pair& a, const Pair& b) { return {a.x / b.x, a.y / b.y}; }
  friend Pair& operator+=(Pair& a, const Pair& b) { return a = a + b; }
  friend Pair& operator-=(Pair& a, const Pair& b) { return a = a - b; }
  friend Pair& operator*=(Pair& a, const Pair& b) { return a = a * b; }
  friend Pair& operator/=(Pair& a, const Pair& b) { return a = a / b; }
  friend Pair operator+(const Pair& a) { return a; }
  friend Pair operator-(const Pair& a) { return __hneg2(a); }
  friend Pair& operator++(Pair& a) { return ++a.x, ++a.y, a; }
  friend Pair& operator--(Pair& a) { return --a.x, --a.y, a; }
  friend Pair operator++(Pair& a, int) { return {a.x++, a.y++}; }
  friend Pair operator--(Pair& a, int) { return {a.x--, a.y--}; }

  // ---- comparison: 1 or 0 in each part, all ones in its half of a word, or one answer for both ----------------------
  friend Pair __heq2(Pair a, Pair b) { return {Small(__heq(a.x, b.x)), Small(__heq(a.y, b.y))}; }
  friend Pair __hequ2(Pair a, Pair b) { return {Small(__hequ(a.x, b.x)), Small(__hequ(a.y, b.y))}; }
  friend Pair __hne2(Pair a, Pair b) { return {Small(__hne(a.x, b.x)), Small(__hne(a.y, b.y))}; }
  friend Pair __hneu2(Pair a, Pair b) { return {Small(__hneu(a.x, b.x)), Small(__hneu(a.y, b.y))}; }
  friend Pair __hlt2(Pair a, Pair b) { return {Small(__hlt(a.x, b.x)), Small(__hlt(a.y, b.y))}; }
  friend Pair __hltu2(Pair a, Pair b) { return {Small(__hltu(a.x, b.x)), Small(__hltu(a.y, b.y))}; }
  friend Pair __hle2(Pair a, Pair b) { return {Small(__hle(a.x, b.x)), Small(__hle(a.y, b.y))}; }
  friend Pair __hleu2(Pair a, Pair b) { return {Small(__hleu(a.x, b.x)), Small(__hleu(a.y, b.y))}; }
  friend Pair __hgt2(Pair a, Pair b) { return {Small(__hgt(a.x, b.x)), Small(__hgt(a.y, b.y))}; }
  friend Pair __hgtu2(Pair a, Pair b) { return {Small(__hgtu(a.x, b.x)), Small(__hgtu(a.y, b.y))}; }
  friend Pair __hge2(Pair a, Pair b) { return {Small(__hge(a.x, b.x)), Small(__hge(a.y, b.y))}; }
  friend Pair __hgeu2(Pair a, Pair b) { return {Small(__hgeu(a.x, b.x)), Small(__hgeu(a.y, b.y))}; }
  friend unsigned __heq2_mask(Pair a, Pair b) { return mask(__heq(a.x, b.x), __heq(a.y, b.y)); }
  friend unsigned __hequ2_mask(Pair a, Pair b) { return mask(__hequ(a.x, b.x), __hequ(a.y, b.y)); }
  friend unsigned __hne2_mask(Pair a, Pair b) { return mask(__hne(a.x, b.x), __hne(a.y, b.y)); }
  friend unsigned __hneu2_mask(Pair a, Pair b) { return mask(__hneu(a.x, b.x), __hneu(a.y, b.y)); }
  friend unsigned __hlt2_mask(Pair a, Pair b) { return mask(__hlt(a.x, b.x), __hlt(a.y, b.y)); }
  friend unsigned __hltu2_mask(Pair a, Pair b) { return mask(__hltu(a.x, b.x), __hltu(a.y, b.y)); }
  friend unsigned __hle2_mask(Pair a, Pair b) { return mask(__hle(a.x, b.x), __hle(a.y, b.y)); }
  friend unsigned __hleu2_mask(Pair a, Pair b) { return mask(__hleu(a.x, b.x), __hleu(a.y, b.y)); }
  friend unsigned __hgt2_mask(Pair a, Pair b) { return mask(__hgt(a.x, b.x), __hgt(a.y, b.y)); }
  friend unsigned __hgtu2_mask(Pair a, Pair b) { return mask(__hgtu(a.x, b.x), __hgtu(a.y, b.y)); }
  friend unsigned __hge2_mask(Pair a, Pair b) { return mask(__hge(a.x, b.x), __hge(a.y, b.y)); }
  friend unsigned __hgeu2_mask(Pair a, Pair b) { return mask(__hgeu(a.x, b.x), __hgeu(a.y, b.y)); }
  friend bool __hbeq2(Pair a, Pair b) { return __heq(a.x, b.x) && __heq(a.y, b.y); }
  friend bool __hbequ2(Pair a, Pair b) { return __hequ(a.x, b.x) && __hequ(a.y, b.y); }
  friend bool __hbne2(Pair a, Pair b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
  friend bool __hbneu2(Pair a, Pair b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); }
  friend bool __hblt2(Pair a, Pair b) { return __hlt(a.x, b.x) && __hlt(a.y, b.y); }
  friend bool __hbltu2(Pair a, Pair b) { return __hltu(a.x, b.x) && __hltu(a.y, b.y); }
  friend bool __hble2(Pair a, Pair b) { return __hle(a.x, b.x) && __hle(a.y, b.y); }
  friend bool __hbleu2(Pair a, Pair b) { return __hleu(a.x, b.x) && __hleu(a.y, b.y); }
  friend bool __hbgt2(Pair a, Pair b) { return __hgt(a.x, b.x) && __hgt(a.y, b.y); }
  friend bool __hbgtu2(Pair a, Pair b) { return __hgtu(a.x, b.x) && __hgtu(a.y, b.y); }
  friend bool __hbge2(Pair a, Pair b) { return __hge(a.x, b.x) && __hge(a.y, b.y); }
  friend bool __hbgeu2(Pair a, Pair b) { return __hgeu(a.x, b.x) && __hgeu(a.y, b.y); }
  friend Pair __hisnan2(Pair a) { return {Small(__hisnan(a.x)), Small(__hisnan(a.y))}; }
  friend bool operator==(const Pair& a, const Pair& b) { return __hbeq2(a, b); }
  friend bool operator!=(const Pair& a, const Pair& b) { return __hbneu2(a, b); }
  friend bool operator<(const Pair& a, const Pair& b) { return __hblt2(a, b); }
  friend bool operator<=(const Pair& a, const Pair& b) { return __hble2(a, b); }
  friend bool operator>(const Pair& a, const Pair& b) { return __hbgt2(a, b); }
  friend bool operator>=(const Pair& a, const Pair& b) { return __hbge2(a, b); }

  // ---- functions of each part ---------------------------------------------------------------------------------------
  friend Pair h2sqrt(Pair a) { return {hsqrt(a.x), hsqrt(a.y)}; }
  friend Pair h2rsqrt(Pair a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
  friend Pair h2rcp(Pair a) { return {hrcp(a.x), hrcp(a.y)}; }
  friend Pair h2exp(Pair a) { return {hexp(a.x), hexp(a.y)}; }
  friend Pair h2exp2(Pair a) { return {hexp2(a.x), hexp2(a.y)}; }
  friend Pair h2exp10(Pair a) { return {hexp10(a.x), hexp10(a.y)}; }
  friend Pair h2log(Pair a) { return {hlog(a.x), hlog(a.y)}; }
  friend Pair h2log2(Pair a) { return {hlog2(a.x), hlog2(a.y)}; }
  friend Pair h2log10(Pair a) { return {hlog10(a.x), hlog10(a.y)}; }
  friend Pair h2sin(Pair a) { return {hsin(a.x), hsin(a.y)}; }
  friend Pair h2cos(Pair a) { return {hcos(a.x), hcos(a.y)}; }
  friend Pair h2tanh(Pair a) { return {htanh(a.x), htanh(a.y)}; }
  friend Pair h2tanh_approx(Pair a) { return {htanh_approx(a.x), htanh_approx(a.y)}; }
  friend Pair h2floor(Pair a) { return {hfloor(a.x), hfloor(a.y)}; }
  friend Pair h2ceil(Pair a) { return {hceil(a.x), hceil(a.y)}; }
  friend Pair h2trunc(Pair a) { return {htrunc(a.x), htrunc(a.y)}; }
  friend Pair h2rint(Pair a) { return {hrint(a.x), hrint(a.y)}; }

  // ---- parts --------------------------------------------------------------------------------------------------------
  friend float __low2float(Pair a) { return a.x; }
  friend float __high2float(Pair a) { return a.y; }
  friend Pair __lowhigh2highlow(Pair a) { return {a.y, a.x}; }
};

}  // namespace ridge::lab
