// <cuda/cmath>: functions of whole numbers, for host and device. Constant where their arguments are.
#pragma once
#include <bit>
#include <concepts>
#include <type_traits>

namespace cuda {

template <class T>
concept whole_number = (std::integral<T> && !std::same_as<T, bool>) || std::is_enum_v<T>;

// The least n with n * b >= a; a is not negative, and b is positive. a + b need not fit the type.
template <whole_number T, whole_number U> constexpr std::common_type_t<T, U> ceil_div(T a, U b) noexcept {
  using Common = std::common_type_t<T, U>;
  const auto x = static_cast<Common>(a), y = static_cast<Common>(b);
  return static_cast<Common>(x / y + (x % y != 0));
}
// The nearest multiple of b that is not below, or not above, a.
template <whole_number T, whole_number U> constexpr std::common_type_t<T, U> round_up(T a, U b) noexcept {
  return static_cast<std::common_type_t<T, U>>(cuda::ceil_div(a, b) * b);
}
template <whole_number T, whole_number U> constexpr std::common_type_t<T, U> round_down(T a, U b) noexcept {
  using Common = std::common_type_t<T, U>;
  return static_cast<Common>(static_cast<Common>(a) / static_cast<Common>(b) * static_cast<Common>(b));
}

// ---- powers and logarithms ---------------------------------------------------------------------------------------
template <std::integral T> constexpr bool is_power_of_two(T x) noexcept {
  return x > 0 && std::has_single_bit(static_cast<std::make_unsigned_t<T>>(x));
}
template <std::integral T> constexpr T next_power_of_two(T x) noexcept {
  return static_cast<T>(std::bit_ceil(static_cast<std::make_unsigned_t<T>>(x)));
}
template <std::integral T> constexpr T prev_power_of_two(T x) noexcept {
  return static_cast<T>(std::bit_floor(static_cast<std::make_unsigned_t<T>>(x)));
}
template <std::integral T> constexpr int ilog2(T x) noexcept {
  return static_cast<int>(std::bit_width(static_cast<std::make_unsigned_t<T>>(x))) - 1;
}
template <std::integral T> constexpr int ceil_ilog2(T x) noexcept { return cuda::ilog2(x) + !cuda::is_power_of_two(x); }
template <std::integral T> constexpr int ilog10(T x) noexcept {
  int digits = 0;
  for (; x >= 10; x = static_cast<T>(x / 10)) ++digits;
  return digits;
}
template <std::integral T, std::integral E> constexpr T ipow(T base, E exponent) noexcept {
  T power = 1;
  for (; exponent > 0; --exponent) power = static_cast<T>(power * base);
  return power;
}
// The whole part of the root.
template <std::integral T> constexpr T isqrt(T x) noexcept {
  using Word = std::make_unsigned_t<T>;
  Word left = static_cast<Word>(x), root = 0, bit = Word(1) << (8 * sizeof(T) - 2);
  while (bit > left) bit >>= 2;
  for (; bit; bit >>= 2) {
    const bool fits = left >= static_cast<Word>(root + bit);
    if (fits) left -= static_cast<Word>(root + bit);
    root = static_cast<Word>((root >> 1) + (fits ? bit : 0));
  }
  return static_cast<T>(root);
}

// ---- signs -------------------------------------------------------------------------------------------------------
// As an unsigned number, which the least one has too.
template <std::integral T> constexpr std::make_unsigned_t<T> uabs(T x) noexcept {
  using Word = std::make_unsigned_t<T>;
  return x < 0 ? static_cast<Word>(Word(0) - static_cast<Word>(x)) : static_cast<Word>(x);
}
template <std::integral T> constexpr T neg(T x) noexcept {
  using Word = std::make_unsigned_t<T>;
  return static_cast<T>(static_cast<Word>(Word(0) - static_cast<Word>(x)));
}

}  // namespace cuda
