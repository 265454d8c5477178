// Pooling of one window in double, by definition; shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace ridge::pool_detail {

struct WindowOracle {
  double greatest = -std::numeric_limits<double>::infinity();  // NaN where there is one
  std::int64_t row = -1, col = -1;                             // of the first such input; below 0: all is padding
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
        if (!std::isnan(greatest) && (std::isnan(x) || x > greatest || row < 0)) greatest = x, row = i, col = j;
        sum += x;
        magnitude += std::fabs(x);
        ++inside;
      }
  }
};

// Number of a window's taps along one axis, from `first` on, that lie within the input and this much padding.
inline std::int64_t taps_within(std::int64_t first, std::int64_t taps, std::int64_t before, std::int64_t inputs,
                                std::int64_t after) {
  std::int64_t within = 0;
  for (std::int64_t tap = first; tap < first + taps; ++tap) within += tap >= -before && tap < inputs + after;
  return within;
}

// Where window o of `outputs` of adaptive pooling begins and ends: o inputs / outputs and (o + 1) inputs / outputs,
// rounded outwards.
struct AdaptiveOracle {
  std::int64_t begin = 0, end = 0;
  AdaptiveOracle(std::int64_t o, std::int64_t inputs, std::int64_t outputs) {
    while ((begin + 1) * outputs <= o * inputs) ++begin;
    while (end * outputs < (o + 1) * inputs) ++end;
  }
};

}  // namespace ridge::pool_detail
