// CUDA's math and bit names for g++. The standard ones (expf, fmaf, fmaxf, ...) come from <math.h>.
//
// Fast forms (__expf) are the exact functions here: a CPU run is never less accurate than the device's.
#pragma once
#include <ridge/simt/backend.hpp>

#include <math.h>
#include <stdlib.h>

#include <bit>
#include <limits>
#include <type_traits>

// ---- floating point ----------------------------------------------------------------------------------------------
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

// glibc declares some of these names for its own use, noexcept.
inline float __expf(float x) noexcept { return expf(x); }
inline float __exp10f(float x) noexcept { return powf(10.0f, x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline void sincospif(float x, float* sine, float* cosine) {
  const double angle = 3.14159265358979323846 * static_cast<double>(x);
  *sine = static_cast<float>(sin(angle));
  *cosine = static_cast<float>(cos(angle));
}

// Rounded once, never contracted into an fma.
namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {
template <class T> T rounded(T x) {
  volatile T stored = x;
  return stored;
}
}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
inline float __fadd_rn(float a, float b) { return ridge::simt::detail::rounded(a + b); }
inline float __fsub_rn(float a, float b) { return ridge::simt::detail::rounded(a - b); }
inline float __fmul_rn(float a, float b) { return ridge::simt::detail::rounded(a * b); }
inline double __dadd_rn(double a, double b) { return ridge::simt::detail::rounded(a + b); }
inline double __dmul_rn(double a, double b) { return ridge::simt::detail::rounded(a * b); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }

// ---- conversions -------------------------------------------------------------------------------------------------
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {
// Conversions as on the device: out of range saturates, NaN becomes 0. (In C++ both are undefined.)
template <class To> To saturate(float whole) {
  constexpr To least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  if (whole != whole) return 0;
  if (whole <= static_cast<float>(least)) return least;
  if (whole >= static_cast<float>(most)) return most;  // as a float: 2^31 or 2^32
  return static_cast<To>(whole);
}
}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
inline int __float2int_rn(float x) { return ridge::simt::detail::saturate<int>(rintf(x)); }
inline int __float2int_rz(float x) { return ridge::simt::detail::saturate<int>(truncf(x)); }
inline int __float2int_rd(float x) { return ridge::simt::detail::saturate<int>(floorf(x)); }
inline int __float2int_ru(float x) { return ridge::simt::detail::saturate<int>(ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return ridge::simt::detail::saturate<unsigned>(rintf(x)); }
inline unsigned __float2uint_rz(float x) { return ridge::simt::detail::saturate<unsigned>(truncf(x)); }

// ---- bits --------------------------------------------------------------------------------------------------------
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline unsigned long long __brevll(unsigned long long x) {
  x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
  x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
  return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

// ---- min and max without std:: -----------------------------------------------------------------------------------
// CUDA's rules, which are fminf's and fmaxf's for floating point: a NaN gives way to the other operand.
inline int min(int a, int b) { return b < a ? b : a; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
inline long min(long a, long b) { return b < a ? b : a; }
inline long max(long a, long b) { return a < b ? b : a; }
inline unsigned long min(unsigned long a, unsigned long b) { return b < a ? b : a; }
inline unsigned long max(unsigned long a, unsigned long b) { return a < b ? b : a; }
inline long long min(long long a, long long b) { return b < a ? b : a; }
inline long long max(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long min(unsigned long long a, unsigned long long b) { return b < a ? b : a; }
inline unsigned long long max(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// ---- cached and streaming access: plain here ---------------------------------------------------------------------
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldca(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> void __stcg(T* p, std::type_identity_t<T> value) { *p = value; }
template <class T> void __stcs(T* p, std::type_identity_t<T> value) { *p = value; }
template <class T> void __stwt(T* p, std::type_identity_t<T> value) { *p = value; }
