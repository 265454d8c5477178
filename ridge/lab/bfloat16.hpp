// __nv_bfloat16 and __nv_bfloat162 (cuda_bf16.h), and the names that have the format in them.
#pragma once
#include <ridge/lab/small_float_lanes.hpp>
#include <ridge/lab/small_float_pair.hpp>

using __nv_bfloat16 = ridge::lab::SmallFloat<ridge::lab::Brain16>;
using __nv_bfloat162 = ridge::lab::SmallPair<ridge::lab::Brain16>;
using __nv_bfloat16_raw = ridge::lab::SmallRaw<ridge::lab::Brain16>;
using __nv_bfloat162_raw = ridge::lab::SmallPairRaw<ridge::lab::Brain16>;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

static_assert(sizeof(__nv_bfloat16) == 2 && sizeof(__nv_bfloat162) == 4 && alignof(__nv_bfloat162) == 4);
static_assert(std::is_trivially_copyable_v<__nv_bfloat162> &&
              std::is_trivially_default_constructible_v<__nv_bfloat162>);

// ---- from and to floating point -------------------------------------------------------------------------------------
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rz(float x) { return __nv_bfloat16::of(x, ridge::lab::Round::zero); }
inline __nv_bfloat16 __float2bfloat16_rd(float x) { return __nv_bfloat16::of(x, ridge::lab::Round::down); }
inline __nv_bfloat16 __float2bfloat16_ru(float x) { return __nv_bfloat16::of(x, ridge::lab::Round::up); }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }

// ---- from and to integers -------------------------------------------------------------------------------------------
inline __nv_bfloat16 __short2bfloat16_rn(short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __short2bfloat16_rz(short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __short2bfloat16_rd(short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __short2bfloat16_ru(short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __ushort2bfloat16_rz(unsigned short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __ushort2bfloat16_rd(unsigned short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __ushort2bfloat16_ru(unsigned short x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __nv_bfloat16 __int2bfloat16_rn(int x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __int2bfloat16_rz(int x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __int2bfloat16_rd(int x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __int2bfloat16_ru(int x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __nv_bfloat16 __uint2bfloat16_rn(unsigned x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __uint2bfloat16_rz(unsigned x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __uint2bfloat16_rd(unsigned x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __uint2bfloat16_ru(unsigned x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __nv_bfloat16 __ll2bfloat16_rn(long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __ll2bfloat16_rz(long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __ll2bfloat16_rd(long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __ll2bfloat16_ru(long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline __nv_bfloat16 __ull2bfloat16_rn(unsigned long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::nearest);
}
inline __nv_bfloat16 __ull2bfloat16_rz(unsigned long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::zero);
}
inline __nv_bfloat16 __ull2bfloat16_rd(unsigned long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::down);
}
inline __nv_bfloat16 __ull2bfloat16_ru(unsigned long long x) {
  return __nv_bfloat16::of(ridge::lab::integer_to_odd(x), ridge::lab::Round::up);
}
inline signed char __bfloat162char_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<signed char>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned char __bfloat162uchar_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned char>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline short __bfloat162short_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline short __bfloat162short_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline short __bfloat162short_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::down);
}
inline short __bfloat162short_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<short>(static_cast<float>(x), ridge::lab::Round::up);
}
inline unsigned short __bfloat162ushort_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned short __bfloat162ushort_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned short __bfloat162ushort_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned short __bfloat162ushort_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned short>(static_cast<float>(x), ridge::lab::Round::up);
}
inline int __bfloat162int_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline int __bfloat162int_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline int __bfloat162int_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::down);
}
inline int __bfloat162int_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<int>(static_cast<float>(x), ridge::lab::Round::up);
}
inline unsigned __bfloat162uint_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned __bfloat162uint_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned __bfloat162uint_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned __bfloat162uint_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned>(static_cast<float>(x), ridge::lab::Round::up);
}
inline long long __bfloat162ll_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline long long __bfloat162ll_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline long long __bfloat162ll_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::down);
}
inline long long __bfloat162ll_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<long long>(static_cast<float>(x), ridge::lab::Round::up);
}
inline unsigned long long __bfloat162ull_rn(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::nearest);
}
inline unsigned long long __bfloat162ull_rz(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::zero);
}
inline unsigned long long __bfloat162ull_rd(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::down);
}
inline unsigned long long __bfloat162ull_ru(__nv_bfloat16 x) {
  return ridge::lab::to_integer<unsigned long long>(static_cast<float>(x), ridge::lab::Round::up);
}

// ---- bits -----------------------------------------------------------------------------------------------------------
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16::of_bits(bits); }
inline __nv_bfloat16 __short_as_bfloat16(short bits) {
  return __nv_bfloat16::of_bits(static_cast<unsigned short>(bits));
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline short __bfloat16_as_short(__nv_bfloat16 x) { return static_cast<short>(x.bits); }

// ---- pairs ----------------------------------------------------------------------------------------------------------
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {low, high}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 x) { return {x.x, x.y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 x) { return {x.x, x.y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 x) { return x.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 x) { return x.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 x) { return {x.x, x.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 x) { return {x.y, x.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
