// Directed rounding without the processor's rounding mode: the watchdog may abandon a thread at any instruction, and a
// mode that it had set would stay.
//
// A result in the nearest mode is corrected by one step where it lies on the wrong side of the exact one. The exact one
// is computed in a wider type: products of T fit into Wide<T>, and a sum is two numbers of it.
#pragma once
#include <ridge/lab/uncounted.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

namespace ridge::lab {

enum class Round : unsigned char { nearest, zero, down, up };

// 113 bits of significand, which hold a product of doubles and every 64-bit integer.
#if defined(__x86_64__) || defined(__i386__)
__extension__ typedef __float128 Quad;
#else
using Quad = long double;
#endif

template <class T> using Wide = std::conditional_t<std::is_same_v<T, float>, double, Quad>;

// The number value + rest, where the rest is at most half of the value's last place.
template <class W> struct Exact { W value, rest = 0; };

template <class W> Exact<W> exact_sum(W a, W b) {  // Knuth's
  const W sum = a + b, from_b = sum - a;
  return {sum, (a - (sum - from_b)) + (b - from_b)};
}

template <class W> int side_of(W exact, W nearest) { return (exact > nearest) - (exact < nearest); }  // NaN: 0

// The neighbour of `nearest` that the mode asks for, if the exact result is above (1) or below it (-1).
template <class T> RIDGE_LAB_UNCOUNTED T step(T nearest, int side, Round mode) {
  const bool up = mode == Round::up || (mode == Round::zero && nearest < 0);
  const bool down = mode == Round::down || (mode == Round::zero && nearest > 0);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (side > 0 && up) return std::nextafter(nearest, infinity);
  if (side < 0 && down) return std::nextafter(nearest, -infinity);
  return nearest;
}

// Rounds a number of a wider type. In the nearest mode, its rest must be 0.
template <class T, class W> RIDGE_LAB_UNCOUNTED T narrow(Exact<W> x, Round mode) {
  const T nearest = static_cast<T>(x.value);
  const int side = side_of<W>(x.value, nearest);
  return step(nearest, side != 0 ? side : side_of<W>(x.rest, 0), mode);
}

// A sum of exactly zero is -0 in the mode `down`, unless both operands are +0.
template <Round mode, class T> RIDGE_LAB_UNCOUNTED T add(T a, T b) {
  if (mode == Round::down && a == -b && (a != 0 || std::signbit(a) != std::signbit(b))) return -T(0);
  return narrow<T>(exact_sum<Wide<T>>(a, b), mode);
}

template <Round mode, class T> T multiply(T a, T b) { return narrow<T>(Exact<Wide<T>>{Wide<T>(a) * b}, mode); }

template <Round mode, class T> RIDGE_LAB_UNCOUNTED T multiply_add(T a, T b, T c) {
  const Wide<T> product = Wide<T>(a) * b;
  if (product == -Wide<T>(c)) {  // the sum is zero: of a sign that add() knows
    const T sign = std::copysign(T(1), a) * std::copysign(T(1), b);
    return product == 0 ? add<mode>(sign * T(0), c) : add<mode>(T(1), T(-1));
  }
  return narrow<T>(exact_sum<Wide<T>>(product, c), mode);
}

template <Round mode, class T> RIDGE_LAB_UNCOUNTED T divide(T a, T b) {
  const T nearest = a / b;
  const int side = side_of<Wide<T>>(a, Wide<T>(nearest) * b);
  return step(nearest, b < 0 ? -side : side, mode);
}

template <Round mode, class T> RIDGE_LAB_UNCOUNTED T square_root(T x) {
  const T nearest = std::sqrt(x);
  return step(nearest, side_of<Wide<T>>(x, Wide<T>(nearest) * nearest), mode);
}

// ---- to integers -------------------------------------------------------------------------------------------------
template <class T> RIDGE_LAB_UNCOUNTED T to_whole(T x, Round mode) {
  switch (mode) {
    case Round::nearest: return std::nearbyint(x);
    case Round::zero: return std::trunc(x);
    case Round::down: return std::floor(x);
    case Round::up: return std::ceil(x);
  }
  return x;
}

// As on the device: what is out of range becomes the nearest integer. NaN becomes 0, or the top bit alone where the
// source or the result has 64 bits (PTX, cvt).
template <class To, class T> RIDGE_LAB_UNCOUNTED To to_integer(T x, Round mode) {
  constexpr To least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  if (x != x) return sizeof(To) == 8 || sizeof(T) == 8 ? static_cast<To>(To(1) << (8 * sizeof(To) - 1)) : To(0);
  const T whole = to_whole(x, mode);
  if (whole <= static_cast<T>(least)) return least;
  if (whole >= static_cast<T>(most)) return most;
  return static_cast<To>(whole);
}

}  // namespace ridge::lab
