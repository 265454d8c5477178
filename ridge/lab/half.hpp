// __half and __half2 (cuda_fp16.h), and the names that have the format in them.
#pragma once
#include <ridge/lab/small_float_lanes.hpp>
#include <ridge/lab/small_float_pair.hpp>

using __half = ridge::lab::SmallFloat<ridge::lab::Binary16>;
using __half2 = ridge::lab::SmallPair<ridge::lab::Binary16>;
using __half_raw = ridge::lab::SmallRaw<ridge::lab::Binary16>;
using __half2_raw = ridge::lab::SmallPairRaw<ridge::lab::Binary16>;
using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

static_assert(sizeof(__half) == 2 && sizeof(__half2) == 4 && alignof(__half2) == 4);
static_assert(std::is_trivially_copyable_v<__half2> && std::is_trivially_default_constructible_v<__half2>);

// ---- from and to floating point -------------------------------------------------------------------------------------
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __float2half_rz(float x) { return __half::of(x, ridge::lab::Round::zero); }
inline __half __float2half_rd(float x) { return __half::of(x, ridge::lab::Round::down); }
inline __half __float2half_ru(float x) { return __half::of(x, ridge::lab::Round::up); }
inline __half __double2half(double x) { return x; }
inline float __half2float(__half x) { return x; }

// ---- from and to integers -------------------------------------------------------------------------------------------
inline __half __short2half_rn(short x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest); }
inline __half __short2half_rz(short x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero); }
inline __half __short2half_rd(short x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down); }
inline __half __short2half_ru(short x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up); }
inline __half __ushort2half_rn(unsigned short x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __half __ushort2half_rz(unsigned short x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __half __ushort2half_rd(unsigned short x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __half __ushort2half_ru(unsigned short x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __half __int2half_rn(int x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest); }
inline __half __int2half_rz(int x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero); }
inline __half __int2half_rd(int x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down); }
inline __half __int2half_ru(int x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up); }
inline __half __uint2half_rn(unsigned x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __half __uint2half_rz(unsigned x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero); }
inline __half __uint2half_rd(unsigned x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down); }
inline __half __uint2half_ru(unsigned x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up); }
inline __half __ll2half_rn(long long x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __half __ll2half_rz(long long x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero); }
inline __half __ll2half_rd(long long x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down); }
inline __half __ll2half_ru(long long x) { return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up); }
inline __half __ull2half_rn(unsigned long long x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __half __ull2half_rz(unsigned long long x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __half __ull2half_rd(unsigned long long x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __half __ull2half_ru(unsigned long long x) {
  return __half::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline signed char __half2char_rz(__half x) {
  return ridge::lab::to_integer<signed char>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned char __half2uchar_rz(__half x) {
  return ridge::lab::to_integer<unsigned char>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline short __half2short_rn(__half x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline short __half2short_rz(__half x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline short __half2short_rd(__half x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::down);
}
inline short __half2short_ru(__half x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::up);
}
inline unsigned short __half2ushort_rn(__half x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned short __half2ushort_rz(__half x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned short __half2ushort_rd(__half x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned short __half2ushort_ru(__half x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::up);
}
inline int __half2int_rn(__half x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline int __half2int_rz(__half x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline int __half2int_rd(__half x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::down);
}
inline int __half2int_ru(__half x) { return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::up); }
inline unsigned __half2uint_rn(__half x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned __half2uint_rz(__half x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned __half2uint_rd(__half x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned __half2uint_ru(__half x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::up);
}
inline long long __half2ll_rn(__half x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline long long __half2ll_rz(__half x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline long long __half2ll_rd(__half x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::down);
}
inline long long __half2ll_ru(__half x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::up);
}
inline unsigned long long __half2ull_rn(__half x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned long long __half2ull_rz(__half x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned long long __half2ull_rd(__half x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned long long __half2ull_ru(__half x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::up);
}

// ---- bits -----------------------------------------------------------------------------------------------------------
inline __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }
inline __half __short_as_half(short bits) { return __half::of_bits(static_cast<unsigned short>(bits)); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline short __half_as_short(__half x) { return static_cast<short>(x.bits); }

// ---- pairs ----------------------------------------------------------------------------------------------------------
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float low, float high) { return {low, high}; }
inline __half2 __float22half2_rn(float2 x) { return {x.x, x.y}; }
inline float2 __half22float2(__half2 x) { return {x.x, x.y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half __low2half(__half2 x) { return x.x; }
inline __half __high2half(__half2 x) { return x.y; }
inline __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
inline __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __half2 make_half2(__half low, __half high) { return {low, high}; }
