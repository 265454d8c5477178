// The norm of one row and its gradient in double, by definition; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>

namespace ridge::norm_detail {

struct RowOracle {
  double mean = 0, variance = 0, scale = 0;  // rms: mean 0, and variance is the mean of squares
  double apart = 0, furthest = 0;            // mean and greatest |x - mean|

  RowOracle(const double* x, std::int64_t cols, double eps, bool rms) {
    const auto n = static_cast<double>(cols);
    long double sum = 0;
    for (std::int64_t i = 0; i < cols; ++i) sum += x[i];
    mean = rms ? 0 : static_cast<double>(sum / n);
    long double squares = 0, distances = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double d = x[i] - mean;
      squares += static_cast<long double>(d) * d;
      distances += std::fabs(d);
      if (std::fabs(d) > furthest) furthest = std::fabs(d);
    }
    variance = static_cast<double>(squares / n);
    apart = static_cast<double>(distances / n);
    scale = 1 / std::sqrt(variance + eps);
  }
  double normalised(double x) const { return (x - mean) * scale; }
};

}  // namespace ridge::norm_detail
