// A group's statistics, by definition and in double; it shares nothing with the kernels.
#pragma once
#include <cmath>
#include <vector>

namespace ridge::group_norm_detail {

struct GroupOracle {
  double first = 0, from_first = NAN;  // the mean is their sum: distances are right where it is far from 0
  double var = NAN;
  double spread = 0, squares = 0;  // root of the mean square, and sum of squares, of x - first
  bool is_finite = true;           // no NaN and no infinity is among them

  explicit GroupOracle(const std::vector<double>& x) {
    if (x.empty()) return;
    const auto n = static_cast<double>(x.size());
    double sum = 0, of_distances = 0;
    first = x[0];
    for (double value : x) {
      is_finite = is_finite && std::isfinite(value);
      sum += value - first;
      squares += (value - first) * (value - first);
    }
    if (!is_finite) return;
    from_first = sum / n;
    for (double value : x) of_distances += distance(value) * distance(value);
    var = of_distances / n;
    spread = std::sqrt(squares / n);
  }
  double mean() const { return first + from_first; }
  double distance(double x) const { return x - first - from_first; }
};

}  // namespace ridge::group_norm_detail
