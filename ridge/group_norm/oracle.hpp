// A group's statistics and activations' slopes, by definition and in double; it shares nothing with the kernels.
#pragma once
#include <ridge/core/activation.hpp>

#include <cmath>
#include <numbers>
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

inline long double slope_oracle(Activation f, long double x) {
  using std::numbers::pi_v, std::numbers::sqrt2_v;
  const auto logistic = [](long double y) { return 1 / (1 + std::exp(-y)); };
  const auto of_logistic = [&](long double y) { return logistic(y) * logistic(-y); };
  switch (f) {
    case Activation::relu: return std::isnan(x) ? x : x > 0 ? 1 : 0;
    case Activation::sigmoid: return of_logistic(x);
    case Activation::silu: return logistic(x) + x * of_logistic(x);
    case Activation::gelu:
      return std::erfc(-x / sqrt2_v<long double>) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * pi_v<long double>);
    case Activation::gelu_tanh: {
      const long double twice = 2 * std::sqrt(2 / pi_v<long double>), u = twice * (x + 0.044715L * x * x * x);
      return logistic(u) + x * of_logistic(u) * twice * (1 + 3 * 0.044715L * x * x);
    }
    case Activation::relu6: return std::isnan(x) ? x : x > 0 && x < 6 ? 1 : 0;
    case Activation::hardswish: return x <= -3 ? 0 : x > 3 ? 1 : x / 3 + 0.5L;
    case Activation::hardsigmoid: return std::isnan(x) ? x : x > -3 && x < 3 ? 1 / 6.0L : 0;
    case Activation::none: break;
  }
  return 1;
}

}  // namespace ridge::group_norm_detail
