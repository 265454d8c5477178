// CUDA's integer intrinsics that ridge/simt/cpu/math.hpp lacks, and the mixed forms of min and max.
#pragma once
#include <ridge/lab/uncounted.hpp>
#include <ridge/lab/vector_types.hpp>
#include <ridge/simt/cpu/math.hpp>

// ---- products ----------------------------------------------------------------------------------------------------
namespace ridge::lab {
constexpr int low_24_bits(int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; }
}  // namespace ridge::lab

inline int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(ridge::lab::low_24_bits(a)) *
                          static_cast<unsigned>(ridge::lab::low_24_bits(b)));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

// ---- differences and means ---------------------------------------------------------------------------------------
inline unsigned __usad(unsigned a, unsigned b, unsigned sum) { return (a < b ? b - a : a - b) + sum; }
inline unsigned __sad(int a, int b, unsigned sum) {
  return sum + (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                      : static_cast<unsigned>(a) - static_cast<unsigned>(b));
}
inline int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((0ull + a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((1ull + a + b) >> 1); }

// ---- shifts over two words ---------------------------------------------------------------------------------------
namespace ridge::lab {
constexpr unsigned long long two_words(unsigned low, unsigned high) {
  return static_cast<unsigned long long>(high) << 32 | low;
}
}  // namespace ridge::lab

inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(ridge::lab::two_words(low, high) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(ridge::lab::two_words(low, high) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(ridge::lab::two_words(low, high) << (shift < 32 ? shift : 32) >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(ridge::lab::two_words(low, high) >> (shift < 32 ? shift : 32));
}

// ---- bits --------------------------------------------------------------------------------------------------------
// The place of the mask's |offset|-th set bit, counted from bit `base` upwards, or downwards if the offset is negative;
// all ones if there is none. An offset of 0 asks for bit `base` itself.
RIDGE_LAB_UNCOUNTED inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  const int direction = offset < 0 ? -1 : 1;
  int left = offset == 0 ? 1 : offset * direction;
  for (int bit = static_cast<int>(base & 31); bit >= 0 && bit < 32; bit += direction) {
    if (mask >> bit & 1 && --left == 0) return static_cast<unsigned>(bit);
    if (offset == 0) break;
  }
  return ~0u;
}
inline unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
inline unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
inline unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }

// ---- products of the parts of words ------------------------------------------------------------------------------
namespace ridge::lab {

// The sum of products of `Count` parts of type A and B of two words, b's from part `first` on; wraps around.
template <class A, class B, int Count> unsigned dot_parts(unsigned a, unsigned b, unsigned sum, int first = 0) {
  for (int i = 0; i < Count; ++i) {
    const auto left = static_cast<A>(a >> 8 * sizeof(A) * i), right = static_cast<B>(b >> 8 * sizeof(B) * (first + i));
    sum += static_cast<unsigned>(static_cast<int>(left)) * static_cast<unsigned>(static_cast<int>(right));
  }
  return sum;
}

}  // namespace ridge::lab

inline int __dp4a(int a, int b, int sum) {
  return static_cast<int>(ridge::lab::dot_parts<signed char, signed char, 4>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(sum)));
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return ridge::lab::dot_parts<unsigned char, unsigned char, 4>(a, b, sum);
}
inline int __dp4a(char4 a, char4 b, int sum) { return __dp4a(std::bit_cast<int>(a), std::bit_cast<int>(b), sum); }
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned sum) {
  return __dp4a(std::bit_cast<unsigned>(a), std::bit_cast<unsigned>(b), sum);
}
// Two halfwords of a by two bytes of b: the low ones, or the high ones.
inline int __dp2a_lo(int a, int b, int sum) {
  return static_cast<int>(ridge::lab::dot_parts<short, signed char, 2>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(sum)));
}
inline int __dp2a_hi(int a, int b, int sum) {
  return static_cast<int>(ridge::lab::dot_parts<short, signed char, 2>(
      static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<unsigned>(sum), 2));
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
  return ridge::lab::dot_parts<unsigned short, unsigned char, 2>(a, b, sum);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned sum) {
  return ridge::lab::dot_parts<unsigned short, unsigned char, 2>(a, b, sum, 2);
}
inline int __dp2a_lo(short2 a, char4 b, int sum) {
  return __dp2a_lo(std::bit_cast<int>(a), std::bit_cast<int>(b), sum);
}
inline int __dp2a_hi(short2 a, char4 b, int sum) {
  return __dp2a_hi(std::bit_cast<int>(a), std::bit_cast<int>(b), sum);
}
inline unsigned __dp2a_lo(ushort2 a, uchar4 b, unsigned sum) {
  return __dp2a_lo(std::bit_cast<unsigned>(a), std::bit_cast<unsigned>(b), sum);
}
inline unsigned __dp2a_hi(ushort2 a, uchar4 b, unsigned sum) {
  return __dp2a_hi(std::bit_cast<unsigned>(a), std::bit_cast<unsigned>(b), sum);
}

// ---- min and max of two types ------------------------------------------------------------------------------------
// These and those of ridge/simt/cpu/math.hpp are CUDA's: other mixtures (int with long long, float with int) are
// ambiguous here as they are for nvcc.
inline unsigned long min(long a, unsigned long b) { return min(static_cast<unsigned long>(a), b); }
inline unsigned long max(long a, unsigned long b) { return max(static_cast<unsigned long>(a), b); }
inline unsigned long min(unsigned long a, long b) { return min(a, static_cast<unsigned long>(b)); }
inline unsigned long max(unsigned long a, long b) { return max(a, static_cast<unsigned long>(b)); }
inline unsigned long long min(long long a, unsigned long long b) { return min(static_cast<unsigned long long>(a), b); }
inline unsigned long long max(long long a, unsigned long long b) { return max(static_cast<unsigned long long>(a), b); }
inline unsigned long long min(unsigned long long a, long long b) { return min(a, static_cast<unsigned long long>(b)); }
inline unsigned long long max(unsigned long long a, long long b) { return max(a, static_cast<unsigned long long>(b)); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

inline unsigned umin(unsigned a, unsigned b) { return min(a, b); }
inline unsigned umax(unsigned a, unsigned b) { return max(a, b); }
inline long long llmin(long long a, long long b) { return min(a, b); }
inline long long llmax(long long a, long long b) { return max(a, b); }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
