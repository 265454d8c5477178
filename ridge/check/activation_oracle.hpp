// An epilogue's activation by definition, in long double; shares nothing with the kernels.
#pragma once
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
  return x;
}

// What an activation of x may lose besides roundings: it is a product of x with a share, or a share itself, and one
// below the normal numbers of the type computed in may be 0. Fast divisions give 0 where the divisor is above 2^126,
// and an exponential beyond the range is infinite: 1 over that is 0, where 1 over its own value is a subnormal number.
inline long double lost_below_normal(std::string_view f, long double x, long double least_normal) {
  if (f == "sigmoid") return least_normal;
  if (!std::isfinite(x)) return 0;
  return f == "silu" || f == "gelu" || f == "gelu_tanh" ? std::fabs(x) * least_normal : 0;
}

}  // namespace ridge::check
