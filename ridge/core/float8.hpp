// fp8 storage types: e4m3 (finite, NaN 0x7f, greatest 448) and e5m2 (IEEE-like, greatest 57344).
//
// Conversions from float round to nearest even. e4m3 has no infinity: values that are too large, infinity included,
// become NaN, as in the OCP 8-bit floating point specification; scale before you store.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge {

namespace detail {

// Rounds |value| to a float with `mantissa` fraction bits and the least normal exponent `least`; returns the format's
// magnitude bits, a count of the least subnormal.
RIDGE_HD constexpr std::uint32_t small_float_magnitude(float value, int mantissa, int least) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, value) & 0x7fffffffu;
  const int exponent = static_cast<int>(u >> 23) - 127;
  const int shift = exponent >= least ? 23 - mantissa : 23 - mantissa + (least - exponent);
  if (u == 0 || shift > 24) return 0;
  const std::uint32_t full = (u & 0x7fffffu) | (u >> 23 ? 0x800000u : 0u);
  const std::uint32_t kept = full >> shift, rest = full & ((1u << shift) - 1), middle = 1u << (shift - 1);
  const std::uint32_t rounded = kept + (rest > middle || (rest == middle && (kept & 1)));
  const std::uint32_t biased = exponent >= least ? static_cast<std::uint32_t>(exponent - least) : 0u;
  return (biased << mantissa) + rounded;  // the implicit bit of a normal number adds the missing one
}

RIDGE_HD constexpr float small_float_value(std::uint32_t magnitude, int mantissa, int least) {
  const std::uint32_t exponent = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1);
  const std::uint32_t significand = exponent ? fraction | 1u << mantissa : fraction;
  const int power = (exponent ? static_cast<int>(exponent) - 1 : 0) + least - mantissa;
  return static_cast<float>(significand) * __builtin_bit_cast(float, static_cast<std::uint32_t>(power + 127) << 23);
}

}  // namespace detail

struct float8_e4m3 {
  std::uint8_t bits;
  float8_e4m3() = default;
  RIDGE_HD constexpr explicit float8_e4m3(float value) : bits{} {
    const std::uint8_t sign = __builtin_bit_cast(std::uint32_t, value) >> 24 & 0x80u;
    const bool finite = (__builtin_bit_cast(std::uint32_t, value) & 0x7fffffffu) < 0x7f800000u;
    const std::uint32_t magnitude = finite ? detail::small_float_magnitude(value, 3, -6) : 0x7fu;
    bits = static_cast<std::uint8_t>(sign | (magnitude > 0x7eu ? 0x7fu : magnitude));
  }
  RIDGE_HD constexpr operator float() const {
    if ((bits & 0x7f) == 0x7f) return __builtin_bit_cast(float, 0x7fc00000u);
    const float value = detail::small_float_value(bits & 0x7fu, 3, -6);
    return bits & 0x80 ? -value : value;
  }
};

struct float8_e5m2 {
  std::uint8_t bits;
  float8_e5m2() = default;
  RIDGE_HD constexpr explicit float8_e5m2(float value) : bits{} {
    const std::uint8_t sign = __builtin_bit_cast(std::uint32_t, value) >> 24 & 0x80u;
    const std::uint32_t u = __builtin_bit_cast(std::uint32_t, value) & 0x7fffffffu;
    const std::uint32_t magnitude = u > 0x7f800000u    ? 0x7fu
                                    : u == 0x7f800000u ? 0x7cu
                                                       : detail::small_float_magnitude(value, 2, -14);
    bits = static_cast<std::uint8_t>(sign | (u <= 0x7f800000u && magnitude > 0x7cu ? 0x7cu : magnitude));
  }
  RIDGE_HD constexpr operator float() const {
    const std::uint32_t magnitude = bits & 0x7fu;
    const float value = magnitude > 0x7cu    ? __builtin_bit_cast(float, 0x7fc00000u)
                        : magnitude == 0x7cu ? __builtin_bit_cast(float, 0x7f800000u)
                                             : detail::small_float_value(magnitude, 2, -14);
    return bits & 0x80 ? -value : value;
  }
};

}  // namespace ridge
