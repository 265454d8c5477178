// One element of D by definition, serially in long double; shares nothing with the kernels.
#pragma once
#include <ridge/check/activation_oracle.hpp>
#include <ridge/check/case_book.hpp>

#include <cmath>
#include <cstdint>

namespace ridge::gemm_detail {

// A row or column of an operand: elements first, first + step, ... of a tensor.
struct Line {
  const check::HostTensor& of;
  std::int64_t first, step;
  double operator[](std::int64_t i) const { return of.at(first + i * step); }
};

struct DotOracle {
  long double sum = 0, magnitude = 0;  // of the products, and of their absolute values

  // x[0] y[0] + x[1] y[1] + ... of k products
  DotOracle(const Line& x, const Line& y, std::int64_t k) {
    for (std::int64_t i = 0; i < k; ++i) {
      const long double product = static_cast<long double>(x[i]) * y[i];
      sum += product;
      magnitude += std::fabs(product);
    }
  }
};

using check::activation_oracle;

}  // namespace ridge::gemm_detail
