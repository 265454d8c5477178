// The norm of one row and its gradient in double, by definition; it shares nothing with the kernels. Mean and scale are
// also kept in long double: rows of f64 are held to fewer roundings than double would add. Distances are taken from the
// row's first element: the mean of numbers far from 0 would be rounded by more than a kernel's errors, even in long
// double.
#pragma once
#include <cmath>
#include <cstdint>

namespace ridge::norm_detail {

struct RowOracle {
  double mean = 0, variance = 0, scale = 0;  // rms: mean 0, and variance is the mean of squares
  double apart = 0, furthest = 0;            // mean and greatest |x - mean|
  long double first = 0, from_first = 0;     // the mean is their sum; rms: 0
  long double exact_scale = 0;

  RowOracle(const double* x, std::int64_t cols, double eps, bool rms) {
    const auto n = static_cast<double>(cols);
    long double sum = 0;
    if (!rms && cols > 0) first = x[0];
    for (std::int64_t i = 0; i < cols; ++i) sum += x[i] - first;
    from_first = rms ? 0 : sum / n;
    mean = static_cast<double>(first + from_first);
    long double squares = 0, distances = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const long double d = distance(x[i]);
      squares += d * d;
      distances += std::fabs(d);
      furthest = std::fmax(furthest, static_cast<double>(std::fabs(d)));
    }
    variance = static_cast<double>(squares / n);
    apart = static_cast<double>(distances / n);
    exact_scale = 1 / std::sqrt(squares / n + eps);
    scale = static_cast<double>(exact_scale);
  }
  long double distance(double x) const { return x - first - from_first; }
  double normalised(double x) const { return static_cast<double>(distance(x) * exact_scale); }
};

}  // namespace ridge::norm_detail
