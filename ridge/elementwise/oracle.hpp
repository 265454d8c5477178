// The elementwise functions in double, by the C++ library; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ridge::elementwise_detail {

inline double oracle(std::string_view f, double a, double b) {
  if (f == "add") return a + b;
  if (f == "mul") return a * b;
  if (f == "relu") return std::isnan(a) ? a : a > 0 ? a : 0;
  if (f == "sigmoid") return 1 / (1 + std::exp(-a));
  if (f == "tanh") return std::tanh(a);
  if (f == "gelu") return a == -INFINITY ? 0 : a * 0.5 * std::erfc(-a / std::sqrt(2.0));
  if (f == "gelu_tanh") {
    if (std::isinf(a)) return a > 0 ? a : 0;
    // 0.5 a (1 + tanh u) = a / (1 + e^-2u), which does not cancel for negative a
    return a / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (a + 0.044715 * a * a * a)));
  }
  if (f == "silu") return a == -INFINITY ? 0 : a / (1 + std::exp(-a));
  if (f == "exp") return std::exp(a);
  return a;  // copy
}

}  // namespace ridge::elementwise_detail
