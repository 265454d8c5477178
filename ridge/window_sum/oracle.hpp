// One window's sum in double, by definition; shares nothing with the kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ridge::window_sum_detail {

struct WindowOracle {
  double sum = 0, magnitude = 0;  // sums of values, and of absolute values
  bool integral = true;

  WindowOracle(const double* row, std::int64_t n, std::int64_t i, std::int64_t w) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - w / 2); j <= std::min(n - 1, i + w / 2); ++j) {
      sum += row[j];
      magnitude += std::fabs(row[j]);
      integral = integral && std::floor(row[j]) == row[j];
    }
  }
};

}  // namespace ridge::window_sum_detail
