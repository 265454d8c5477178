// Pooling of one window in double, by definition; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace ridge::pool_detail {

struct WindowOracle {
  double greatest = -std::numeric_limits<double>::infinity();  // NaN where there is one
  double sum = 0, magnitude = 0;                               // sums of values, and of absolute values
  std::int64_t inside = 0;                                     // taps that are not padding

  // at(i, j) is the input of an h x w plane.
  WindowOracle(const std::function<double(std::int64_t, std::int64_t)>& at, std::int64_t h, std::int64_t w,
               std::int64_t top, std::int64_t left, std::int64_t r, std::int64_t s, std::int64_t dilation_h,
               std::int64_t dilation_w) {
    for (std::int64_t a = 0; a < r; ++a)
      for (std::int64_t b = 0; b < s; ++b) {
        const std::int64_t i = top + a * dilation_h, j = left + b * dilation_w;
        if (i < 0 || i >= h || j < 0 || j >= w) continue;
        const double x = at(i, j);
        if (std::isnan(x) || x > greatest) greatest = std::isnan(greatest) ? greatest : x;
        sum += x;
        magnitude += std::fabs(x);
        ++inside;
      }
  }
};

}  // namespace ridge::pool_detail
