// The norm of one row and its gradient in double, by definition; shares nothing with the kernels. Mean and scale are
// kept in long double besides: rows of f64 are held to fewer roundings than double would add.
#pragma once
#include <cmath>
#include <cstdint>

namespace ridge::norm_detail {

struct RowOracle {
  double mean = 0, variance = 0, scale = 0;  // rms: mean 0, and variance is the mean of squares
  double apart = 0, furthest = 0;            // mean and greatest |x - mean|
  long double exact_mean = 0, exact_scale = 0;

  RowOracle(const double* x, std::int64_t cols, double eps, bool rms) {
    const auto n = static_cast<double>(cols);
    long double sum = 0;
    for (std::int64_t i = 0; i < cols; ++i) sum += x[i];
    exact_mean = rms ? 0 : sum / n;
    mean = static_cast<double>(exact_mean);
    long double squares = 0, distances = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const long double d = x[i] - exact_mean;
      squares += d * d;
      distances += std::fabs(d);
      furthest = std::fmax(furthest, static_cast<double>(std::fabs(d)));
    }
    variance = static_cast<double>(squares / n);
    apart = static_cast<double>(distances / n);
    exact_scale = 1 / std::sqrt(squares / n + eps);
    scale = static_cast<double>(exact_scale);
  }
  double normalised(double x) const { return static_cast<double>((x - exact_mean) * exact_scale); }
};

}  // namespace ridge::norm_detail
