// Maximum and minimum that propagate NaN: the greater (lesser) of anything and NaN is NaN.
#pragma once
#include <ridge/core/float16.hpp>
#include <ridge/simt/simt.hpp>

#include <limits>

namespace ridge::tile {

// Whether the type has packed_pick() of two elements in a word.
template <class T> inline constexpr bool is_packed = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// Greatest: the maximum; otherwise the minimum.
template <bool Greatest> struct Extreme {
  // Whether b replaces a. Equal values (0 and -0 are equal) and two NaNs do not.
  template <class T> static __device__ __forceinline__ bool beats(T b, T a) {
    if constexpr (is_packed<T>) return rank(b) > rank(a);
    else if constexpr (std::is_integral_v<T>) return Greatest ? b > a : b < a;
    else return (Greatest ? b > a : b < a) || (b != b && a == a);
  }

  // The neutral element: everything beats it.
  template <class T> static __device__ __forceinline__ T neutral() {
    if constexpr (std::is_integral_v<T>)
      return Greatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    else return T(Greatest ? -__builtin_huge_valf() : __builtin_huge_valf());
  }

  template <class T> static __device__ __forceinline__ T pick(T a, T b) { return beats(b, a) ? b : a; }

#if RIDGE_CUDA_ARCH >= 800
  static __device__ __forceinline__ float pick(float a, float b) {  // one instruction
    float r;
    if constexpr (Greatest) asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    else asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
  }
  static __device__ __forceinline__ half pick(half a, half b) { return pick_of_words(a, b); }
  static __device__ __forceinline__ bfloat16 pick(bfloat16 a, bfloat16 b) { return pick_of_words(a, b); }
#endif

  // pick() of both elements of T in a word.
  template <class T> static __device__ __forceinline__ std::uint32_t packed_pick(std::uint32_t a, std::uint32_t b) {
#if RIDGE_CUDA_ARCH >= 800
    std::uint32_t r;
    if constexpr (std::is_same_v<T, half>) {
      if constexpr (Greatest) asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
      else asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    } else {
      if constexpr (Greatest) asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
      else asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    }
    return r;
#else
    T x[2], y[2];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < 2; ++i) x[i] = pick(x[i], y[i]);
    memcpy(&a, x, sizeof x);
    return a;
#endif
  }

  // The greater (lesser) of each half of two words, as 16-bit integers.
  template <bool Signed> static __device__ __forceinline__ unsigned pick_halves(unsigned a, unsigned b) {
#if RIDGE_CUDA_ARCH >= 900
    unsigned r;
    if constexpr (Greatest && Signed) asm("max.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else if constexpr (Greatest) asm("max.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else if constexpr (Signed) asm("min.s16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    else asm("min.u16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    using Half = std::conditional_t<Signed, std::int16_t, std::uint16_t>;
    const auto low = pick(static_cast<Half>(a), static_cast<Half>(b)),
               high = pick(static_cast<Half>(a >> 16), static_cast<Half>(b >> 16));
    return static_cast<std::uint16_t>(low) | static_cast<unsigned>(static_cast<std::uint16_t>(high)) << 16;
#endif
  }

 private:
  // By the packed instruction too: comparisons by rank() made a block's reduction take as long as its reading.
  template <class T> static __device__ __forceinline__ T pick_of_words(T a, T b) {
    const std::uint32_t word = packed_pick<T>(a.bits, b.bits);
    return __builtin_bit_cast(T, static_cast<std::uint16_t>(word));
  }

  // The rank of a 16-bit float among all values: the one that beats another has the greater rank.
  template <class T> static __device__ __forceinline__ int rank(T x) {
    constexpr int infinity = std::is_same_v<T, half> ? 0x7c00 : 0x7f80;
    const int magnitude = x.bits & 0x7fff;
    if (magnitude > infinity) return 0x8000;
    return ((x.bits & 0x8000) == 0) == Greatest ? magnitude : -magnitude;
  }
};

}  // namespace ridge::tile
