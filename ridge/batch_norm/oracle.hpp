// Statistics of a channel in double, by definition, in two passes; it shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

namespace ridge::batch_norm_detail {

struct ChannelOracle {
  double mean = NAN, var = NAN;
  double spread = 0;  // root of the mean square of x - x[0]: the size of values relative to x[0]

  explicit ChannelOracle(const std::vector<double>& x) {
    if (x.empty()) return;
    const double n = static_cast<double>(x.size());
    double sum = 0, squares = 0, relative = 0;
    for (double v : x) sum += v - x[0];
    mean = x[0] + sum / n;
    for (double v : x) {
      squares += (v - mean) * (v - mean);
      relative += (v - x[0]) * (v - x[0]);
    }
    var = squares / n;
    spread = std::sqrt(relative / n);
    if (!std::isfinite(var)) mean = var = NAN;  // a NaN or an infinity among them
  }
};

// Sums of dy and of dy (x - mean) over a channel, and of their magnitudes.
struct GradientOracle {
  double dy = 0, dyx = 0, dy_size = 0, dyx_size = 0;

  GradientOracle(const std::vector<double>& gradients, const std::vector<double>& x, double mean_of_x) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double product = gradients[i] * (x[i] - mean_of_x);
      dy += gradients[i];
      dyx += product;
      dy_size += std::fabs(gradients[i]);
      dyx_size += std::fabs(product);
    }
  }
};

}  // namespace ridge::batch_norm_detail
