// softmax of one row in double, by definition; it shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace ridge::softmax_detail {

struct RowOracle {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;  // of exp(x - max); NaN if the row has no result

  RowOracle(const double* x, std::int64_t cols) {
    bool nan = false;
    for (std::int64_t i = 0; i < cols; ++i) {
      nan = nan || std::isnan(x[i]);
      if (x[i] > max) max = x[i];
    }
    for (std::int64_t i = 0; i < cols; ++i) sum += std::exp(x[i] - max);
    if (nan || std::isinf(max)) sum = std::numeric_limits<double>::quiet_NaN();
  }
  double softmax(double x) const { return std::isnan(sum) ? sum : std::exp(x - max) / sum; }
  double log_softmax(double x) const { return std::isnan(sum) ? sum : x - max - std::log(sum); }
};

}  // namespace ridge::softmax_detail
