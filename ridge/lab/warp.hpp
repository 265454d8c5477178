// CUDA's warp intrinsics that ridge/simt/cpu/lanes.hpp lacks.
#pragma once
#include <ridge/lab/converge.hpp>
#include <ridge/lab/uncounted.hpp>
#include <ridge/simt/cpu/lanes.hpp>

#include <bit>
#include <concepts>

namespace ridge::lab {

using simt::lane_mask;
using simt::detail::where;

// The value of lane `source` of the warp, for any type of at most eight bytes.
template <class T> T shuffle(lane_mask mask, T value, simt::detail::Source source, int operand, int width, where at) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  word = simt::detail::shuffle(mask, word, source, operand, width, at);
  std::memcpy(static_cast<void*>(&value), &word, sizeof value);
  return value;
}
template <class T> T from_lane(lane_mask mask, T value, int lane, where at) {
  return shuffle(mask, value, simt::detail::Source::index, lane, warpSize, at);
}

// Reduces by f over the lanes of the mask that take part. A whole warp needs only five shuffles.
template <class T, class F> RIDGE_LAB_UNCOUNTED T reduce_lanes(lane_mask mask, T value, F f, where at) {
  lane_mask left = simt::detail::ballot(mask, true, at);
  if (left == ~lane_mask(0) >> (64 - warpSize)) {
    for (int bits = warpSize / 2; bits > 0; bits /= 2)
      value = f(value, shuffle(mask, value, simt::detail::Source::flip, bits, warpSize, at));
    return value;
  }
  T result = from_lane(mask, value, std::countr_zero(left), at);
  while (left &= left - 1) result = f(result, from_lane(mask, value, std::countr_zero(left), at));
  return result;
}

template <class T>
concept reducible = std::same_as<T, int> || std::same_as<T, unsigned>;

// Types that CUDA's shuffles take as int, by promotion.
template <class T>
concept promoted_to_int = std::integral<T> && sizeof(T) < sizeof(int);

// What a call of a name without _sync gets to read.
template <class...> inline constexpr bool never = false;

}  // namespace ridge::lab

// ---- which lanes -------------------------------------------------------------------------------------------------
// A GPU gives the lanes that execute the call together. The CPU runs lanes one after the other: the call waits until
// all others of the warp are here too, or wait elsewhere, or have returned. So the lanes of a branch get its mask.
inline unsigned __activemask(ridge::lab::where at = ridge::lab::where::current()) {
  return static_cast<unsigned>(ridge::lab::lanes_here(at));
}

// ---- lanes with equal values -------------------------------------------------------------------------------------
template <class T>
requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) RIDGE_LAB_UNCOUNTED
    unsigned __match_any_sync(ridge::lab::lane_mask mask, T value,
                              ridge::lab::where at = ridge::lab::where::current()) {
  ridge::lab::lane_mask mine = 0;
  for (ridge::lab::lane_mask left = ridge::simt::detail::ballot(mask, true, at); left;) {
    const T other = ridge::lab::from_lane(mask, value, std::countr_zero(left), at);
    const bool equal = std::memcmp(&value, &other, sizeof value) == 0;
    const ridge::lab::lane_mask group = ridge::simt::detail::ballot(mask, equal, at);
    if (equal) mine = group;
    left &= ~group;
  }
  return static_cast<unsigned>(mine);
}
template <class T>
requires(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8)) unsigned __match_all_sync(
    ridge::lab::lane_mask mask, T value, int* all_equal, ridge::lab::where at = ridge::lab::where::current()) {
  const ridge::lab::lane_mask present = ridge::simt::detail::ballot(mask, true, at);
  const T first = ridge::lab::from_lane(mask, value, std::countr_zero(present), at);
  const bool equal = std::memcmp(&value, &first, sizeof value) == 0;
  *all_equal = ridge::simt::detail::ballot(mask, !equal, at) == 0;
  return *all_equal ? static_cast<unsigned>(present) : 0;
}

template <ridge::lab::promoted_to_int T>
unsigned __match_any_sync(ridge::lab::lane_mask mask, T value, ridge::lab::where at = ridge::lab::where::current()) {
  return __match_any_sync(mask, static_cast<int>(value), at);
}
template <ridge::lab::promoted_to_int T>
unsigned __match_all_sync(ridge::lab::lane_mask mask, T value, int* all_equal,
                          ridge::lab::where at = ridge::lab::where::current()) {
  return __match_all_sync(mask, static_cast<int>(value), all_equal, at);
}

// ---- reductions --------------------------------------------------------------------------------------------------
template <ridge::lab::reducible T>
T __reduce_add_sync(ridge::lab::lane_mask mask, T value, ridge::lab::where at = ridge::lab::where::current()) {
  const auto sum = [](unsigned a, unsigned b) { return a + b; };  // wraps around
  return static_cast<T>(ridge::lab::reduce_lanes(mask, static_cast<unsigned>(value), sum, at));
}
template <ridge::lab::reducible T>
T __reduce_min_sync(ridge::lab::lane_mask mask, T value, ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::reduce_lanes(
      mask, value, [](T a, T b) { return b < a ? b : a; }, at);
}
template <ridge::lab::reducible T>
T __reduce_max_sync(ridge::lab::lane_mask mask, T value, ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::reduce_lanes(
      mask, value, [](T a, T b) { return a < b ? b : a; }, at);
}
inline unsigned __reduce_and_sync(ridge::lab::lane_mask mask, unsigned value,
                                  ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::reduce_lanes(
      mask, value, [](unsigned a, unsigned b) { return a & b; }, at);
}
inline unsigned __reduce_or_sync(ridge::lab::lane_mask mask, unsigned value,
                                 ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::reduce_lanes(
      mask, value, [](unsigned a, unsigned b) { return a | b; }, at);
}
inline unsigned __reduce_xor_sync(ridge::lab::lane_mask mask, unsigned value,
                                  ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::reduce_lanes(
      mask, value, [](unsigned a, unsigned b) { return a ^ b; }, at);
}

// ---- shuffles of small integers, which become int ----------------------------------------------------------------
template <ridge::lab::promoted_to_int T>
int __shfl_sync(ridge::lab::lane_mask mask, T value, int source, int width = warpSize,
                ridge::lab::where at = ridge::lab::where::current()) {
  return __shfl_sync(mask, static_cast<int>(value), source, width, at);
}
template <ridge::lab::promoted_to_int T>
int __shfl_xor_sync(ridge::lab::lane_mask mask, T value, int bits, int width = warpSize,
                    ridge::lab::where at = ridge::lab::where::current()) {
  return __shfl_xor_sync(mask, static_cast<int>(value), bits, width, at);
}
template <ridge::lab::promoted_to_int T>
int __shfl_up_sync(ridge::lab::lane_mask mask, T value, unsigned distance, int width = warpSize,
                   ridge::lab::where at = ridge::lab::where::current()) {
  return __shfl_up_sync(mask, static_cast<int>(value), distance, width, at);
}
template <ridge::lab::promoted_to_int T>
int __shfl_down_sync(ridge::lab::lane_mask mask, T value, unsigned distance, int width = warpSize,
                     ridge::lab::where at = ridge::lab::where::current()) {
  return __shfl_down_sync(mask, static_cast<int>(value), distance, width, at);
}

// ---- names without _sync -----------------------------------------------------------------------------------------
template <class T> T __shfl(T value, auto...) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __shfl_sync");
  return value;
}
template <class T> T __shfl_xor(T value, auto...) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __shfl_xor_sync");
  return value;
}
template <class T> T __shfl_up(T value, auto...) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __shfl_up_sync");
  return value;
}
template <class T> T __shfl_down(T value, auto...) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __shfl_down_sync");
  return value;
}
template <class T> unsigned __ballot(T) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __ballot_sync");
  return 0;
}
template <class T> int __any(T) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __any_sync");
  return 0;
}
template <class T> int __all(T) {
  static_assert(ridge::lab::never<T>, "removed from CUDA for compute capability 7.0 and later: use __all_sync");
  return 0;
}
