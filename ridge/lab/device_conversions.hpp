// CUDA's conversions, and its arithmetic in a given rounding mode, as far as ridge/simt/cpu/math.hpp lacks them.
#pragma once
#include <ridge/lab/rounding.hpp>
#include <ridge/simt/cpu/math.hpp>

namespace ridge::lab {

template <class T, class I> T from_integer(I x, Round mode) { return narrow<T, Quad>({static_cast<Quad>(x)}, mode); }

}  // namespace ridge::lab

// ---- arithmetic in every rounding mode ------------------------------------------------------------------------------
// The nearest modes that ridge/simt/cpu/math.hpp lacks. A fused multiply-add is never formed out of these.
inline double __dsub_rn(double a, double b) { return ridge::simt::detail::rounded(a - b); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline float __fmaf_ieee_rn(float a, float b, float c) { return fmaf(a, b, c); }

inline float __fadd_rz(float a, float b) { return ridge::lab::add<ridge::lab::Round::zero>(a, b); }
inline float __fadd_rd(float a, float b) { return ridge::lab::add<ridge::lab::Round::down>(a, b); }
inline float __fadd_ru(float a, float b) { return ridge::lab::add<ridge::lab::Round::up>(a, b); }
inline float __fsub_rz(float a, float b) { return ridge::lab::add<ridge::lab::Round::zero>(a, -b); }
inline float __fsub_rd(float a, float b) { return ridge::lab::add<ridge::lab::Round::down>(a, -b); }
inline float __fsub_ru(float a, float b) { return ridge::lab::add<ridge::lab::Round::up>(a, -b); }
inline float __fmul_rz(float a, float b) { return ridge::lab::multiply<ridge::lab::Round::zero>(a, b); }
inline float __fmul_rd(float a, float b) { return ridge::lab::multiply<ridge::lab::Round::down>(a, b); }
inline float __fmul_ru(float a, float b) { return ridge::lab::multiply<ridge::lab::Round::up>(a, b); }
inline float __fdiv_rz(float a, float b) { return ridge::lab::divide<ridge::lab::Round::zero>(a, b); }
inline float __fdiv_rd(float a, float b) { return ridge::lab::divide<ridge::lab::Round::down>(a, b); }
inline float __fdiv_ru(float a, float b) { return ridge::lab::divide<ridge::lab::Round::up>(a, b); }
inline float __frcp_rz(float x) { return ridge::lab::divide<ridge::lab::Round::zero>(float(1), x); }
inline float __frcp_rd(float x) { return ridge::lab::divide<ridge::lab::Round::down>(float(1), x); }
inline float __frcp_ru(float x) { return ridge::lab::divide<ridge::lab::Round::up>(float(1), x); }
inline float __fsqrt_rz(float x) { return ridge::lab::square_root<ridge::lab::Round::zero>(x); }
inline float __fsqrt_rd(float x) { return ridge::lab::square_root<ridge::lab::Round::down>(x); }
inline float __fsqrt_ru(float x) { return ridge::lab::square_root<ridge::lab::Round::up>(x); }
inline float __fmaf_rz(float a, float b, float c) { return ridge::lab::multiply_add<ridge::lab::Round::zero>(a, b, c); }
inline float __fmaf_rd(float a, float b, float c) { return ridge::lab::multiply_add<ridge::lab::Round::down>(a, b, c); }
inline float __fmaf_ru(float a, float b, float c) { return ridge::lab::multiply_add<ridge::lab::Round::up>(a, b, c); }
inline float __fmaf_ieee_rz(float a, float b, float c) {
  return ridge::lab::multiply_add<ridge::lab::Round::zero>(a, b, c);
}
inline float __fmaf_ieee_rd(float a, float b, float c) {
  return ridge::lab::multiply_add<ridge::lab::Round::down>(a, b, c);
}
inline float __fmaf_ieee_ru(float a, float b, float c) {
  return ridge::lab::multiply_add<ridge::lab::Round::up>(a, b, c);
}

inline double __dadd_rz(double a, double b) { return ridge::lab::add<ridge::lab::Round::zero>(a, b); }
inline double __dadd_rd(double a, double b) { return ridge::lab::add<ridge::lab::Round::down>(a, b); }
inline double __dadd_ru(double a, double b) { return ridge::lab::add<ridge::lab::Round::up>(a, b); }
inline double __dsub_rz(double a, double b) { return ridge::lab::add<ridge::lab::Round::zero>(a, -b); }
inline double __dsub_rd(double a, double b) { return ridge::lab::add<ridge::lab::Round::down>(a, -b); }
inline double __dsub_ru(double a, double b) { return ridge::lab::add<ridge::lab::Round::up>(a, -b); }
inline double __dmul_rz(double a, double b) { return ridge::lab::multiply<ridge::lab::Round::zero>(a, b); }
inline double __dmul_rd(double a, double b) { return ridge::lab::multiply<ridge::lab::Round::down>(a, b); }
inline double __dmul_ru(double a, double b) { return ridge::lab::multiply<ridge::lab::Round::up>(a, b); }
inline double __ddiv_rz(double a, double b) { return ridge::lab::divide<ridge::lab::Round::zero>(a, b); }
inline double __ddiv_rd(double a, double b) { return ridge::lab::divide<ridge::lab::Round::down>(a, b); }
inline double __ddiv_ru(double a, double b) { return ridge::lab::divide<ridge::lab::Round::up>(a, b); }
inline double __drcp_rz(double x) { return ridge::lab::divide<ridge::lab::Round::zero>(double(1), x); }
inline double __drcp_rd(double x) { return ridge::lab::divide<ridge::lab::Round::down>(double(1), x); }
inline double __drcp_ru(double x) { return ridge::lab::divide<ridge::lab::Round::up>(double(1), x); }
inline double __dsqrt_rz(double x) { return ridge::lab::square_root<ridge::lab::Round::zero>(x); }
inline double __dsqrt_rd(double x) { return ridge::lab::square_root<ridge::lab::Round::down>(x); }
inline double __dsqrt_ru(double x) { return ridge::lab::square_root<ridge::lab::Round::up>(x); }
inline double __fma_rz(double a, double b, double c) {
  return ridge::lab::multiply_add<ridge::lab::Round::zero>(a, b, c);
}
inline double __fma_rd(double a, double b, double c) {
  return ridge::lab::multiply_add<ridge::lab::Round::down>(a, b, c);
}
inline double __fma_ru(double a, double b, double c) {
  return ridge::lab::multiply_add<ridge::lab::Round::up>(a, b, c);
}

// ---- floating point to integers -------------------------------------------------------------------------------------
inline unsigned __float2uint_rd(float x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::down); }
inline unsigned __float2uint_ru(float x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::up); }
inline long long __float2ll_rn(float x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::nearest); }
inline long long __float2ll_rz(float x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::zero); }
inline long long __float2ll_rd(float x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::down); }
inline long long __float2ll_ru(float x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::up); }
inline unsigned long long __float2ull_rn(float x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::nearest);
}
inline unsigned long long __float2ull_rz(float x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::zero);
}
inline unsigned long long __float2ull_rd(float x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::down);
}
inline unsigned long long __float2ull_ru(float x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::up);
}
inline int __double2int_rn(double x) { return ridge::lab::to_integer<int>(x, ridge::lab::Round::nearest); }
inline int __double2int_rz(double x) { return ridge::lab::to_integer<int>(x, ridge::lab::Round::zero); }
inline int __double2int_rd(double x) { return ridge::lab::to_integer<int>(x, ridge::lab::Round::down); }
inline int __double2int_ru(double x) { return ridge::lab::to_integer<int>(x, ridge::lab::Round::up); }
inline unsigned __double2uint_rn(double x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::nearest); }
inline unsigned __double2uint_rz(double x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::zero); }
inline unsigned __double2uint_rd(double x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::down); }
inline unsigned __double2uint_ru(double x) { return ridge::lab::to_integer<unsigned>(x, ridge::lab::Round::up); }
inline long long __double2ll_rn(double x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::nearest); }
inline long long __double2ll_rz(double x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::zero); }
inline long long __double2ll_rd(double x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::down); }
inline long long __double2ll_ru(double x) { return ridge::lab::to_integer<long long>(x, ridge::lab::Round::up); }
inline unsigned long long __double2ull_rn(double x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::nearest);
}
inline unsigned long long __double2ull_rz(double x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::zero);
}
inline unsigned long long __double2ull_rd(double x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::down);
}
inline unsigned long long __double2ull_ru(double x) {
  return ridge::lab::to_integer<unsigned long long>(x, ridge::lab::Round::up);
}

// ---- integers to floating point, and double to float ----------------------------------------------------------------
inline float __int2float_rz(int x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::zero); }
inline float __int2float_rd(int x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::down); }
inline float __int2float_ru(int x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::up); }
inline float __uint2float_rz(unsigned x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::zero); }
inline float __uint2float_rd(unsigned x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::down); }
inline float __uint2float_ru(unsigned x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::up); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ll2float_rz(long long x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::zero); }
inline float __ll2float_rd(long long x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::down); }
inline float __ll2float_ru(long long x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::up); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __ull2float_rz(unsigned long long x) {
  return ridge::lab::from_integer<float>(x, ridge::lab::Round::zero);
}
inline float __ull2float_rd(unsigned long long x) {
  return ridge::lab::from_integer<float>(x, ridge::lab::Round::down);
}
inline float __ull2float_ru(unsigned long long x) { return ridge::lab::from_integer<float>(x, ridge::lab::Round::up); }
inline double __int2double_rn(int x) { return static_cast<double>(x); }
inline double __uint2double_rn(unsigned x) { return static_cast<double>(x); }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline double __ll2double_rz(long long x) { return ridge::lab::from_integer<double>(x, ridge::lab::Round::zero); }
inline double __ll2double_rd(long long x) { return ridge::lab::from_integer<double>(x, ridge::lab::Round::down); }
inline double __ll2double_ru(long long x) { return ridge::lab::from_integer<double>(x, ridge::lab::Round::up); }
inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
inline double __ull2double_rz(unsigned long long x) {
  return ridge::lab::from_integer<double>(x, ridge::lab::Round::zero);
}
inline double __ull2double_rd(unsigned long long x) {
  return ridge::lab::from_integer<double>(x, ridge::lab::Round::down);
}
inline double __ull2double_ru(unsigned long long x) {
  return ridge::lab::from_integer<double>(x, ridge::lab::Round::up);
}
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline float __double2float_rz(double x) { return ridge::lab::narrow<float, double>({x}, ridge::lab::Round::zero); }
inline float __double2float_rd(double x) { return ridge::lab::narrow<float, double>({x}, ridge::lab::Round::down); }
inline float __double2float_ru(double x) { return ridge::lab::narrow<float, double>({x}, ridge::lab::Round::up); }

// ---- bits -----------------------------------------------------------------------------------------------------------
inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<unsigned long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<unsigned long long>(x)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}
