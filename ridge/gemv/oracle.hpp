// One element of y by definition, serial and in long double; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace ridge::gemv_detail {

struct DotOracle {
  long double sum = 0, magnitude = 0;  // of the products, and of their absolute values

  // a[0] x[0] + a[step] x[1] + ...
  DotOracle(const double* a, std::int64_t step, const double* x, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) {
      const long double product = static_cast<long double>(a[i * step]) * x[i];
      sum += product;
      magnitude += std::fabs(product);
    }
  }
};

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

}  // namespace ridge::gemv_detail
