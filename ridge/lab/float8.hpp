// __nv_fp8_e4m3 and __nv_fp8_e5m2 (cuda_fp8.h): storage and conversions, as CUDA's. Constructors saturate: what is too
// large becomes the greatest number, and NaN stays NaN.
#pragma once
#include <ridge/core/float8.hpp>
#include <ridge/lab/bfloat16.hpp>
#include <ridge/lab/half.hpp>

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace ridge::lab {

// A float that rounds to fewer than 23 bits as x does: x is rounded to odd, as in sum_to_odd.
RIDGE_LAB_UNCOUNTED inline float float_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (nearest == x || x != x || (bits & 1)) return nearest;
  return std::bit_cast<float>(std::fabs(x) > std::fabs(static_cast<double>(nearest)) ? bits + 1 : bits - 1);
}

RIDGE_LAB_UNCOUNTED inline std::uint8_t float8_bits(double x, __nv_saturation_t saturation,
                                                    __nv_fp8_interpretation_t kind) {
  const double greatest = kind == __NV_E4M3 ? 448 : 57344;
  if (x != x) return 0x7f;
  if (saturation == __NV_SATFINITE && std::fabs(x) > greatest) x = std::copysign(greatest, x);
  const float value = std::isinf(x) ? static_cast<float>(x) : float_to_odd(x);
  if (kind == __NV_E5M2) return float8_e5m2(value).bits;
  const std::uint8_t bits = float8_e4m3(value).bits;
  return (bits & 0x7f) == 0x7f ? 0x7f : bits;
}

RIDGE_LAB_UNCOUNTED inline float float8_value(std::uint8_t bits, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E4M3) return std::bit_cast<float8_e4m3>(bits);
  return std::bit_cast<float8_e5m2>(bits);
}

template <__nv_fp8_interpretation_t Kind> struct Float8 {
  __nv_fp8_storage_t __x;

  Float8() = default;
  explicit Float8(double x) : __x(float8_bits(x, __NV_SATFINITE, Kind)) {}
  explicit Float8(float x) : Float8(static_cast<double>(x)) {}
  explicit Float8(__half x) : Float8(static_cast<float>(x)) {}
  explicit Float8(__nv_bfloat16 x) : Float8(static_cast<float>(x)) {}
  template <std::integral I> explicit Float8(I x) : Float8(integer_to_odd(x)) {}

  explicit operator float() const { return float8_value(__x, Kind); }
  explicit operator double() const { return float8_value(__x, Kind); }
  explicit operator __half() const { return float8_value(__x, Kind); }
  explicit operator __nv_bfloat16() const { return float8_value(__x, Kind); }
  explicit operator bool() const { return (__x & 0x7f) != 0; }
  template <integer I> explicit operator I() const { return to_integer<I>(float8_value(__x, Kind), Round::zero); }
};

template <__nv_fp8_interpretation_t Kind> struct Float8Pair {
  __nv_fp8x2_storage_t __x;

  Float8Pair() = default;
  explicit Float8Pair(double2 x)
      : __x(static_cast<__nv_fp8x2_storage_t>(Float8<Kind>(x.x).__x | Float8<Kind>(x.y).__x << 8)) {}
  explicit Float8Pair(float2 x) : Float8Pair(double2{x.x, x.y}) {}
  explicit Float8Pair(__half2 x) : Float8Pair(__half22float2(x)) {}
  explicit Float8Pair(__nv_bfloat162 x) : Float8Pair(__bfloat1622float2(x)) {}

  explicit operator float2() const {
    return {float8_value(static_cast<std::uint8_t>(__x), Kind),
            float8_value(static_cast<std::uint8_t>(__x >> 8), Kind)};
  }
  explicit operator __half2() const { return __float22half2_rn(static_cast<float2>(*this)); }
  explicit operator __nv_bfloat162() const { return __float22bfloat162_rn(static_cast<float2>(*this)); }
};

template <__nv_fp8_interpretation_t Kind> struct Float8Four {
  __nv_fp8x4_storage_t __x;

  Float8Four() = default;
  explicit Float8Four(double4 x)
      : __x(Float8Pair<Kind>(double2{x.x, x.y}).__x | static_cast<unsigned>(Float8Pair<Kind>(double2{x.z, x.w}).__x)
                                                          << 16) {}
  explicit Float8Four(float4 x) : Float8Four(double4{x.x, x.y, x.z, x.w}) {}
  explicit Float8Four(__half2 low, __half2 high) : Float8Four(float4{low.x, low.y, high.x, high.y}) {}
  explicit Float8Four(__nv_bfloat162 low, __nv_bfloat162 high) : Float8Four(float4{low.x, low.y, high.x, high.y}) {}

  explicit operator float4() const {
    const auto part = [this](int i) { return float8_value(static_cast<std::uint8_t>(__x >> 8 * i), Kind); };
    return {part(0), part(1), part(2), part(3)};
  }
};

}  // namespace ridge::lab

using __nv_fp8_e4m3 = ridge::lab::Float8<__NV_E4M3>;
using __nv_fp8_e5m2 = ridge::lab::Float8<__NV_E5M2>;
using __nv_fp8x2_e4m3 = ridge::lab::Float8Pair<__NV_E4M3>;
using __nv_fp8x2_e5m2 = ridge::lab::Float8Pair<__NV_E5M2>;
using __nv_fp8x4_e4m3 = ridge::lab::Float8Four<__NV_E4M3>;
using __nv_fp8x4_e5m2 = ridge::lab::Float8Four<__NV_E5M2>;

// ---- conversions of the storage types ----------------------------------------------------------------------------
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                 __nv_fp8_interpretation_t kind) {
  return ridge::lab::float8_bits(x, saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
  return ridge::lab::float8_bits(x, saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                  __nv_fp8_interpretation_t kind) {
  return ridge::lab::float8_bits(static_cast<float>(__half(x)), saturation, kind);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t kind) {
  return ridge::lab::float8_bits(static_cast<float>(__nv_bfloat16(x)), saturation, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t kind) {
  return static_cast<__nv_fp8x2_storage_t>(ridge::lab::float8_bits(x.x, saturation, kind) |
                                           ridge::lab::float8_bits(x.y, saturation, kind) << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t kind) {
  return __nv_cvt_double2_to_fp8x2({x.x, x.y}, saturation, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(x), saturation, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                           __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(x), saturation, kind);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half(ridge::lab::float8_value(x, kind));
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t kind) {
  return __half2(ridge::lab::float8_value(static_cast<std::uint8_t>(x), kind),
                 ridge::lab::float8_value(static_cast<std::uint8_t>(x >> 8), kind));
}
