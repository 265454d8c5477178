// An epilogue's activation and its slope by definition, in long double; shares nothing with the kernels.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/dtype.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

namespace ridge::check {

inline long double activation_oracle(std::string_view f, long double x) {
  if (f == "relu") return std::isnan(x) ? x : x > 0 ? x : 0;
  if (f == "gelu") return x == -INFINITY ? 0 : x / 2 * std::erfc(-x / std::numbers::sqrt2_v<long double>);
  if (f == "gelu_tanh") {
    if (std::isinf(x)) return x > 0 ? x : 0;
    return x / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi_v<long double>) * (x + 0.044715L * x * x * x)));
  }
  if (f == "silu") return x == -INFINITY ? 0 : x / (1 + std::exp(-x));
  if (f == "sigmoid") return 1 / (1 + std::exp(-x));
  const auto within_six = [](long double y) { return std::isnan(y) ? y : std::clamp(y, 0.0L, 6.0L); };
  if (f == "relu6") return within_six(x);
  if (f == "hardswish") return x == -INFINITY ? 0 : x * within_six(x + 3) / 6;
  if (f == "hardsigmoid") return within_six(x + 3) / 6;
  return x;
}

// The slope of an activation; of a corner, that of the side where it is 0.
inline long double slope_oracle(Activation f, long double x) {
  using std::numbers::pi_v, std::numbers::sqrt2_v;
  const auto logistic = [](long double y) { return 1 / (1 + std::exp(-y)); };
  const auto of_logistic = [&](long double y) { return logistic(y) * logistic(-y); };
  switch (f) {
    case Activation::relu: return std::isnan(x) ? x : x > 0 ? 1 : 0;
    case Activation::sigmoid: return of_logistic(x);
    case Activation::silu: return logistic(x) + x * of_logistic(x);
    case Activation::gelu:
      return std::erfc(-x / sqrt2_v<long double>) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * pi_v<long double>);
    case Activation::gelu_tanh: {
      const long double twice = 2 * std::sqrt(2 / pi_v<long double>), u = twice * (x + 0.044715L * x * x * x);
      return logistic(u) + x * of_logistic(u) * twice * (1 + 3 * 0.044715L * x * x);
    }
    case Activation::relu6: return std::isnan(x) ? x : x > 0 && x < 6 ? 1 : 0;
    case Activation::hardswish: return x <= -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5L;
    case Activation::hardsigmoid: return std::isnan(x) ? x : x > -3 && x < 3 ? 1 / 6.0L : 0;
    case Activation::none: break;
  }
  return 1;
}

// The most that an activation amplifies an error of its argument: the greatest slope, of gelu among the smooth ones.
inline long double activation_slope(std::string_view f) { return f == "hardswish" ? 1.5L : 1.13L; }

// The error of an activation of x besides rounding. It is x times a share, or the share itself, and a share below the
// normal numbers of the computing type may become 0: fast divisions give 0 where the divisor is above 2^126, and an
// exponential beyond the range is infinite, whose reciprocal is 0 instead of a subnormal number. A product loses at
// most itself, and half as much again where a subnormal share is rounded up.
inline long double lost_below_normal(std::string_view f, long double x, long double least_normal) {
  if (f == "sigmoid") return least_normal;
  if (!std::isfinite(x)) return 0;
  if (f != "silu" && f != "gelu" && f != "gelu_tanh") return 0;
  return std::min(std::fabs(x) * least_normal, 2 * std::fabs(activation_oracle(f, x)));
}

// What gelu may err besides where its result is of 16 bits: its tail may come from a polynomial, whose error
// tile/quick_activation.cuh gives. sum: its argument; value: what it is.
inline long double quick_gelu_error(DType dtype, long double sum, long double value) {
  if (dtype != f16 && dtype != bf16) return 0;
  const long double a = std::fabs(sum), tail = std::fabs(value - std::max(sum, 0.0L));
  return tail * (dtype == f16 ? 0x1p-16L : a < 3 ? 0x1p-14L : a < 6 ? 0x1.4p-13L : 0x1.6p-12L);
}

// The error in float32 of an activation of z, which errs by `error` itself: that grows by the slope, and an activation
// errs by 8 operations of one unit around an exponential of its argument.
inline double activated_error(DType dtype, std::string_view f, double z, double error) {
  if (f == "none" || f == "relu" || !std::isfinite(z)) return error;
  constexpr double u = 0x1p-24, least_normal = 0x1p-126;
  const double a = std::fabs(z), value = static_cast<double>(activation_oracle(f, z));
  const double amplified = f == "gelu" ? a * a : f == "gelu_tanh" ? 6.4 * a * (1 + 0.045 * a * a) : a;
  return static_cast<double>(activation_slope(f)) * error +
         (8 + std::min(amplified, 1000.0)) * 4 * u * std::fabs(value) + 8 * 0x1p-149 +
         static_cast<double>(lost_below_normal(f, z, least_normal)) +
         (f == "gelu" ? static_cast<double>(quick_gelu_error(dtype, z, value)) : 0);
}

}  // namespace ridge::check
