// half (IEEE binary16) and bfloat16: storage types, the same on the host and on every device.
//
// They hold bits and convert; they have no arithmetic of their own, because Ridge accumulates 16-bit types in
// float32. Conversions from float round to nearest even; NaN becomes the quiet NaN 0x7fff of either format.
// They need no vendor headers (cuda_fp16.h, hip_fp16.h), which saves a second of compile time per unit and keeps one
// mangled name per type in a library that holds both host and device kernels.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge {

namespace detail {

// Portable conversions in integer arithmetic: constexpr, so that tests and oracles may use them anywhere.
RIDGE_HD constexpr std::uint16_t half_bits(float value) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = u >> 16 & 0x8000u;
  const std::uint32_t magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;                                       // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {                                                    // subnormal half, or zero
    if (magnitude < 0x33000000u) return static_cast<std::uint16_t>(sign);           // below half of the least
    const int shift = 126 - static_cast<int>(magnitude >> 23);                      // 14..24: bits that drop
    const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1), middle = 1u << (shift - 1);
    return static_cast<std::uint16_t>(sign | (kept + (rest > middle || (rest == middle && (kept & 1)))));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);  // to nearest, ties to even
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

RIDGE_HD constexpr float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu, mantissa = bits & 0x3ffu;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23 | mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -subnormal : subnormal;
}

RIDGE_HD constexpr std::uint16_t bfloat16_bits(float value) {
  const std::uint32_t u = __builtin_bit_cast(std::uint32_t, value);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<std::uint16_t>((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

RIDGE_HD constexpr float bfloat16_value(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

struct half {
  std::uint16_t bits;

  half() = default;
  RIDGE_HD constexpr explicit half(float value) : bits{} {
#if RIDGE_CUDA_ARCH
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#elif defined(__HIP_DEVICE_COMPILE__)
    bits = __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
#else
    bits = detail::half_bits(value);
#endif
  }
  RIDGE_HD constexpr operator float() const {
#if RIDGE_CUDA_ARCH
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#elif defined(__HIP_DEVICE_COMPILE__)
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
#else
    return detail::half_value(bits);
#endif
  }
};

struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  RIDGE_HD constexpr explicit bfloat16(float value) : bits{} {
#if RIDGE_CUDA_ARCH >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    bits = detail::bfloat16_bits(value);
#endif
  }
  RIDGE_HD constexpr operator float() const { return detail::bfloat16_value(bits); }
};

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2);

}  // namespace ridge
