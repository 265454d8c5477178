// An epilogue's activation by definition, in long double; shares nothing with the kernels.
#pragma once
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

}  // namespace ridge::check
