// One element of y by definition, serially in long double; shares nothing with the kernels.
#pragma once
#include <ridge/check/activation_oracle.hpp>

#include <cmath>
#include <cstdint>

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

using check::activation_oracle;

}  // namespace ridge::gemv_detail
