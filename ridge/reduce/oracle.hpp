// The reductions of one row, serially and in long double; it shares nothing with the kernels.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace ridge::reduce_detail {

struct Oracle {
  double value = 0;
  double magnitude = 0;  // the sum of |x|, or of |x z|: a float sum's error is relative to it
  bool integral = true;  // all terms are whole numbers
};

// `wraps`: the values are integers, whose sums are taken modulo 2^64. Their mean is that of the exact sum.
inline Oracle oracle(std::string_view f, bool wraps, std::span<const double> x, std::span<const double> z) {
  Oracle o;
  if (wraps && f == "mean") {
    __int128 sum = 0;
    for (const double value : x) sum += static_cast<std::int64_t>(value);
    o.value = static_cast<double>(static_cast<long double>(sum) / static_cast<long double>(x.size()));
    return o;
  }
  if (wraps && (f == "sum" || f == "dot")) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(x[i])) *
             (f == "dot" ? static_cast<std::uint64_t>(static_cast<std::int64_t>(z[i])) : 1);
    o.value = static_cast<double>(static_cast<std::int64_t>(sum));
    return o;
  }
  if (f == "sum" || f == "mean" || f == "dot") {
    long double sum = 0, magnitude = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double term = f == "dot" ? static_cast<long double>(x[i]) * z[i] : static_cast<long double>(x[i]);
      sum += term;
      magnitude += std::fabs(term);
      o.integral = o.integral && term == std::floor(term);
    }
    o.value = static_cast<double>(f == "mean" ? sum / static_cast<long double>(x.size()) : sum);
    o.magnitude = static_cast<double>(magnitude);
    return o;
  }
  const bool greatest = f == "max" || f == "argmax";
  std::size_t at = 0;
  for (std::size_t i = 1; i < x.size() && !std::isnan(x[at]); ++i)
    if (std::isnan(x[i]) || (greatest ? x[i] > x[at] : x[i] < x[at])) at = i;
  o.value = f == "argmax" || f == "argmin" ? static_cast<double>(at) : x[at];
  return o;
}

}  // namespace ridge::reduce_detail
