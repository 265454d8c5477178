// CUDA's mathematical functions that neither <math.h> nor ridge/simt/cpu/math.hpp has. Those of float are computed in
// double and rounded once, so that they are at least as accurate as the device's.
//
// Some are noexcept, because newer C libraries declare functions of the same name so.
#pragma once
#include <ridge/simt/cpu/math.hpp>

#include <cmath>

namespace ridge::lab {

constexpr double pi = 3.14159265358979323846;

// ---- sine and cosine of pi x -------------------------------------------------------------------------------------
// x less the nearest multiple of a half, which is exact, and that multiple's number modulo 4.
struct Turn {
  double rest;
  int quarter;
};
inline Turn turn(double x) {
  const double halves = nearbyint(2 * x);
  return {x - halves / 2, static_cast<int>(fmod(halves, 4.0)) & 3};
}
inline double sine_of_turn(double x) {
  if (!std::isfinite(x)) return x - x;
  const auto [rest, quarter] = turn(x);
  const double value = quarter & 1 ? cos(pi * rest) : sin(pi * rest);
  return value == 0 ? copysign(0.0, x) : quarter & 2 ? -value : value;
}
inline double cosine_of_turn(double x) {
  if (!std::isfinite(x)) return x - x;
  const auto [rest, quarter] = turn(x);
  const double value = quarter & 1 ? -sin(pi * rest) : cos(pi * rest);
  return value == 0 ? 0.0 : quarter & 2 ? -value : value;
}

// ---- the error function's relatives ------------------------------------------------------------------------------
// exp(x * x) * erfc(x).
inline double scaled_erfc(double x) {
  if (x < 10) {
    const double square = x * x;
    return exp(square) * (1 + fma(x, x, -square)) * erfc(x);  // with the square's own rounding error
  }
  double sum = 1, term = 1;
  for (int k = 1; k < 12; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
  return sum / (x * sqrt(pi));
}

// The z with erfc(z) = y, for 0 < y <= 1: Winitzki's approximation, then Halley's iteration.
inline double inverse_of_erfc(double y) {
  const double logarithm = log(y) + log(2 - y), a = 0.147, middle = 2 / (pi * a) + logarithm / 2;
  double z = sqrt(sqrt(middle * middle - logarithm / a) - middle);
  for (int i = 0; i < 4; ++i) {
    const double slope = -2 / sqrt(pi) * exp(-z * z), step = (erfc(z) - y) / slope;
    if (!(slope < 0) || step == 0) break;
    z -= step / (1 + z * step);
  }
  return z;
}
inline double inverse_erfc(double y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<double>::quiet_NaN();
  if (y == 0 || y == 2) return y == 0 ? HUGE_VAL : -HUGE_VAL;
  return y <= 1 ? inverse_of_erfc(y) : -inverse_of_erfc(2 - y);
}
// The z with erf(z) = x. Near 0, 1 - x would lose digits of x: there erf is solved itself.
inline double inverse_erf(double x) {
  if (fabs(x) >= 0.5) return x > 0 ? inverse_erfc(1 - x) : -inverse_erfc(1 + x);
  double z = x * sqrt(pi) / 2;
  for (int i = 0; i < 5; ++i) {
    const double step = (erf(z) - x) * sqrt(pi) / 2 * exp(z * z);
    z -= step / (1 + z * step);
  }
  return z;
}

// ---- norms -------------------------------------------------------------------------------------------------------
template <class T> double norm_of(int count, const T* x) {
  double most = 0, sum = 0;
  for (int i = 0; i < count; ++i) {
    const double size = fabs(static_cast<double>(x[i]));
    if (std::isinf(size)) return HUGE_VAL;
    most = fmax(most, size);
  }
  if (most == 0) most = 1;  // of zeros and NaNs
  for (int i = 0; i < count; ++i) sum += (x[i] / most) * (x[i] / most);
  return most * sqrt(sum);
}
template <class T, class... More> double norm_of_all(T first, More... more) {
  const T all[] = {first, more...};
  return norm_of(1 + static_cast<int>(sizeof...(more)), all);
}

}  // namespace ridge::lab

// ---- sine and cosine ---------------------------------------------------------------------------------------------
inline void __sincosf(float x, float* sine, float* cosine) noexcept { sincosf(x, sine, cosine); }
inline float __tanhf(float x) noexcept { return tanhf(x); }
inline double sinpi(double x) noexcept { return ridge::lab::sine_of_turn(x); }
inline double cospi(double x) noexcept { return ridge::lab::cosine_of_turn(x); }
inline float sinpif(float x) noexcept { return static_cast<float>(ridge::lab::sine_of_turn(x)); }
inline float cospif(float x) noexcept { return static_cast<float>(ridge::lab::cosine_of_turn(x)); }
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}

// ---- roots and norms ---------------------------------------------------------------------------------------------
inline double rcbrt(double x) { return 1 / cbrt(x); }
inline float rcbrtf(float x) { return static_cast<float>(1 / cbrt(static_cast<double>(x))); }
inline double rhypot(double x, double y) { return 1 / ridge::lab::norm_of_all(x, y); }
inline float rhypotf(float x, float y) { return static_cast<float>(1 / ridge::lab::norm_of_all(x, y)); }
inline double norm(int count, const double* x) { return ridge::lab::norm_of(count, x); }
inline float normf(int count, const float* x) { return static_cast<float>(ridge::lab::norm_of(count, x)); }
inline double rnorm(int count, const double* x) { return 1 / ridge::lab::norm_of(count, x); }
inline float rnormf(int count, const float* x) { return static_cast<float>(1 / ridge::lab::norm_of(count, x)); }
inline double norm3d(double x, double y, double z) { return ridge::lab::norm_of_all(x, y, z); }
inline double rnorm3d(double x, double y, double z) { return 1 / ridge::lab::norm_of_all(x, y, z); }
inline float norm3df(float x, float y, float z) { return static_cast<float>(ridge::lab::norm_of_all(x, y, z)); }
inline float rnorm3df(float x, float y, float z) { return static_cast<float>(1 / ridge::lab::norm_of_all(x, y, z)); }
inline double norm4d(double x, double y, double z, double w) { return ridge::lab::norm_of_all(x, y, z, w); }
inline double rnorm4d(double x, double y, double z, double w) { return 1 / ridge::lab::norm_of_all(x, y, z, w); }
inline float norm4df(float x, float y, float z, float w) {
  return static_cast<float>(ridge::lab::norm_of_all(x, y, z, w));
}
inline float rnorm4df(float x, float y, float z, float w) {
  return static_cast<float>(1 / ridge::lab::norm_of_all(x, y, z, w));
}

// ---- the error function, the normal distribution -----------------------------------------------------------------
inline double erfcx(double x) { return ridge::lab::scaled_erfc(x); }
inline float erfcxf(float x) { return static_cast<float>(ridge::lab::scaled_erfc(x)); }
inline double erfinv(double x) { return ridge::lab::inverse_erf(x); }
inline float erfinvf(float x) { return static_cast<float>(ridge::lab::inverse_erf(x)); }
inline double erfcinv(double y) { return ridge::lab::inverse_erfc(y); }
inline float erfcinvf(float y) { return static_cast<float>(ridge::lab::inverse_erfc(y)); }
inline double normcdf(double x) { return erfc(-x * 0.70710678118654752440) / 2; }
inline float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
inline double normcdfinv(double p) { return -1.41421356237309504880 * ridge::lab::inverse_erfc(2 * p); }
inline float normcdfinvf(float p) { return static_cast<float>(normcdfinv(static_cast<double>(p))); }

// ---- Bessel functions that <math.h> lacks ------------------------------------------------------------------------
inline double cyl_bessel_i0(double x) { return std::cyl_bessel_i(0.0, fabs(x)); }
inline double cyl_bessel_i1(double x) { return copysign(std::cyl_bessel_i(1.0, fabs(x)), x); }
inline float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(static_cast<double>(x))); }
inline float cyl_bessel_i1f(float x) { return static_cast<float>(cyl_bessel_i1(static_cast<double>(x))); }

// ---- float overloads of functions whose names <math.h> has for double alone --------------------------------------
inline float exp10(float x) { return exp10f(x); }
inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline float j0(float x) { return j0f(x); }
inline float j1(float x) { return j1f(x); }
inline float jn(int n, float x) { return jnf(n, x); }
inline float y0(float x) { return y0f(x); }
inline float y1(float x) { return y1f(x); }
inline float yn(int n, float x) { return ynf(n, x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrt(float x) { return rcbrtf(x); }
inline float sinpi(float x) { return sinpif(x); }
inline float cospi(float x) { return cospif(x); }
inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }
inline float rhypot(float x, float y) { return rhypotf(x, y); }
inline float norm(int count, const float* x) { return normf(count, x); }
inline float rnorm(int count, const float* x) { return rnormf(count, x); }
inline float norm3d(float x, float y, float z) { return norm3df(x, y, z); }
inline float rnorm3d(float x, float y, float z) { return rnorm3df(x, y, z); }
inline float norm4d(float x, float y, float z, float w) { return norm4df(x, y, z, w); }
inline float rnorm4d(float x, float y, float z, float w) { return rnorm4df(x, y, z, w); }
inline float erfcx(float x) { return erfcxf(x); }
inline float erfinv(float x) { return erfinvf(x); }
inline float erfcinv(float y) { return erfcinvf(y); }
inline float normcdf(float x) { return normcdff(x); }
inline float normcdfinv(float p) { return normcdfinvf(p); }
inline float fdivide(float a, float b) { return a / b; }
inline double fdivide(double a, double b) { return a / b; }
