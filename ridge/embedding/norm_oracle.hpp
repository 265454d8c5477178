// The norm of one row in double, by definition; shares nothing with the kernels. The other statistics of a row serve
// tolerances.
#pragma once
#include <cmath>
#include <cstdint>

namespace ridge::embedding_norm_detail {

struct RowOracle {
  double mean = 0, variance = 0, scale = 0;  // mode rms: mean 0, and variance is the mean of squares
  double apart = 0;                          // mean |x - mean|
  double from_first = 0, furthest = 0;       // mean and greatest |x - x[0]|

  // Precondition: cols > 0.
  RowOracle(const double* x, std::int64_t cols, double eps, bool rms) {
    const auto n = static_cast<long double>(cols);
    long double sum = 0, squares = 0, distances = 0, first = 0;
    for (std::int64_t i = 0; i < cols; ++i) sum += x[i];
    const long double exact_mean = rms ? 0 : sum / n;
    for (std::int64_t i = 0; i < cols; ++i) {
      const long double d = x[i] - exact_mean, of_first = std::fabs(static_cast<long double>(x[i]) - x[0]);
      squares += d * d;
      distances += std::fabs(d);
      first += of_first;
      furthest = std::fmax(furthest, static_cast<double>(of_first));
    }
    mean = static_cast<double>(exact_mean);
    variance = static_cast<double>(squares / n);
    scale = static_cast<double>(1 / std::sqrt(squares / n + eps));
    apart = static_cast<double>(distances / n);
    from_first = static_cast<double>(first / n);
  }
  double normalised(double x) const { return (x - mean) * scale; }
};

}  // namespace ridge::embedding_norm_detail
