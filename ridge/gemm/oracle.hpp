// One element of D by definition, serial and in long double; shares nothing with the kernels.
#pragma once
#include <ridge/check/activation_oracle.hpp>

#include <cmath>
#include <cstdint>

namespace ridge::gemm_detail {

struct DotOracle {
  long double sum = 0, magnitude = 0;  // of the products, and of their absolute values

  // x[0] y[0] + x[step] y[step] + ...
  DotOracle(const double* x, std::int64_t x_step, const double* y, std::int64_t y_step, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) {
      const long double product = static_cast<long double>(x[i * x_step]) * y[i * y_step];
      sum += product;
      magnitude += std::fabs(product);
    }
  }
};

using check::activation_oracle;

}  // namespace ridge::gemm_detail
