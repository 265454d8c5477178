// The 16-bit floating-point types of kernels, __half and __nv_bfloat16, and the pairs of them: one template for both
// formats. Their functions are friends in base classes (small_float_functions.hpp, small_float_pair.hpp).
//
// Every result is rounded once, to nearest even. Operations compute in double and round that to 16 bits, in integers.
#pragma once
#include <ridge/core/float16.hpp>
#include <ridge/lab/rounding.hpp>
#include <ridge/lab/uncounted.hpp>

#include <bit>
#include <concepts>
#include <cstdint>

// Declared once more, as functions of the emulation.
namespace ridge::detail {
RIDGE_LAB_UNCOUNTED constexpr std::uint16_t half_bits(float);
RIDGE_LAB_UNCOUNTED constexpr float half_value(std::uint16_t);
RIDGE_LAB_UNCOUNTED constexpr std::uint16_t bfloat16_bits(float);
}  // namespace ridge::detail

namespace ridge::lab {

// ---- the formats -------------------------------------------------------------------------------------------------
struct Binary16 {
  static constexpr int fraction_bits = 10, least_exponent = -14;
  static constexpr std::uint16_t infinity = 0x7c00, greatest = 0x7bff, one = 0x3c00;
  [[gnu::always_inline]] static constexpr float value(std::uint16_t bits) { return ridge::detail::half_value(bits); }
  [[gnu::always_inline]] static constexpr std::uint16_t round(float x) { return ridge::detail::half_bits(x); }
};
struct Brain16 {
  static constexpr int fraction_bits = 7, least_exponent = -126;
  static constexpr std::uint16_t infinity = 0x7f80, greatest = 0x7f7f, one = 0x3f80;
  [[gnu::always_inline]] static constexpr float value(std::uint16_t bits) {
    return ridge::detail::bfloat16_value(bits);
  }
  [[gnu::always_inline]] static constexpr std::uint16_t round(float x) { return ridge::detail::bfloat16_bits(x); }
};

constexpr std::uint16_t sign_bit = 0x8000, canonical_nan = 0x7fff;

template <class Format> RIDGE_LAB_UNCOUNTED constexpr std::uint16_t round_to(double x, Round mode = Round::nearest) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint16_t sign = bits >> 48 & sign_bit;
  const std::uint64_t magnitude = bits & ~std::uint64_t(0) >> 1, infinity = std::uint64_t(0x7ff) << 52;
  if (magnitude > infinity) return canonical_nan;
  if (magnitude == infinity) return sign | Format::infinity;

  const bool outwards = mode == (sign ? Round::down : Round::up);
  const int biased = static_cast<int>(magnitude >> 52), exponent = biased ? biased - 1023 : -1022;
  const std::uint64_t significand = (magnitude & ~(~std::uint64_t(0) << 52)) | std::uint64_t(biased != 0) << 52;
  const int above_least = exponent - Format::least_exponent;
  const int wanted = 52 - Format::fraction_bits + (above_least < 0 ? -above_least : 0);
  const int shift = wanted < 60 ? wanted : 60;  // bits that drop; by 60 all of them
  const std::uint64_t kept = significand >> shift, rest = significand & ~(~std::uint64_t(0) << shift);
  const std::uint64_t middle = std::uint64_t(1) << (shift - 1);
  const bool nearer_above = rest > middle || (rest == middle && (kept & 1));
  const bool up = mode == Round::nearest ? nearer_above : outwards && rest != 0;
  // A normal number's implicit bit adds 1 to the exponent.
  const std::uint64_t result =
      (static_cast<std::uint64_t>(above_least < 0 ? 0 : above_least) << Format::fraction_bits) + kept + up;
  if (result < Format::infinity) return static_cast<std::uint16_t>(sign | result);
  return sign | (mode == Round::nearest || outwards ? Format::infinity : Format::greatest);
}

// The sum of two doubles rounded to odd: rounding that again, to 51 bits or fewer, gives what rounding the exact sum
// would, because no midpoint is odd.
RIDGE_LAB_UNCOUNTED inline double sum_to_odd(double a, double b) {
  const auto [sum, rest] = exact_sum(a, b);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (!(rest < 0 || rest > 0) || (bits & 1)) return sum;
  return std::bit_cast<double>((rest > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// The same of a 64-bit integer.
template <std::integral I> double integer_to_odd(I x) {
  if constexpr (sizeof x < 8) return static_cast<double>(x);
  else return sum_to_odd(static_cast<double>(x >> 32) * 0x1p32, static_cast<double>(x & 0xffffffff));
}

// ---- one number --------------------------------------------------------------------------------------------------
template <class Format> struct SmallRaw { unsigned short x; };

template <class T>
concept integer = std::integral<T> && !std::same_as<T, bool>;

template <class Small> struct SmallFloatFunctions;

template <class Format> struct SmallFloat : SmallFloatFunctions<SmallFloat<Format>> {
  using format = Format;
  std::uint16_t bits;

  SmallFloat() = default;
  [[gnu::always_inline]] constexpr SmallFloat(SmallRaw<Format> raw) : bits(raw.x) {}
  constexpr SmallFloat(float x) : bits(Format::round(x)) {}
  constexpr SmallFloat(double x) : bits(round_to<Format>(x)) {}
  template <std::integral I> SmallFloat(I x) : bits(round_to<Format>(integer_to_odd(x))) {}
  template <class Other>
  requires(!std::same_as<Other, Format>) explicit constexpr SmallFloat(SmallFloat<Other> x)
      : bits(Format::round(Other::value(x.bits))) {}

  [[gnu::always_inline]] static constexpr SmallFloat of_bits(std::uint16_t bits) { return SmallRaw<Format>{bits}; }
  static constexpr SmallFloat of(double x, Round mode = Round::nearest) { return of_bits(round_to<Format>(x, mode)); }

  constexpr operator SmallRaw<Format>() const { return {bits}; }
  constexpr operator float() const { return Format::value(bits); }
  template <integer I> operator I() const { return to_integer<I>(Format::value(bits), Round::zero); }
  constexpr operator bool() const { return (bits & ~sign_bit) != 0; }
};

// ---- two numbers -------------------------------------------------------------------------------------------------
template <class Format> struct alignas(4) SmallPairRaw { unsigned short x, y; };

template <class Pair, class Small> struct SmallPairFunctions;

template <class Format> struct alignas(4) SmallPair : SmallPairFunctions<SmallPair<Format>, SmallFloat<Format>> {
  using part = SmallFloat<Format>;
  part x, y;

  SmallPair() = default;
  constexpr SmallPair(part low, part high) : x(low), y(high) {}
  constexpr SmallPair(SmallPairRaw<Format> raw) : x(SmallRaw<Format>{raw.x}), y(SmallRaw<Format>{raw.y}) {}
  constexpr operator SmallPairRaw<Format>() const { return {x.bits, y.bits}; }
};

}  // namespace ridge::lab
