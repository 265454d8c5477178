// The convolution and its gradients in double, by definition; shares nothing with the kernels. Tolerances are derived
// from `size`, the sum of the terms' magnitudes, and `terms`, their number.
#pragma once
#include <cmath>
#include <cstdint>

namespace ridge::dwconv_detail {

struct Term {
  double sum = 0, size = 0;
  std::int64_t terms = 0;
  void add(double a, double b) {
    sum += a * b;
    size += std::fabs(a * b);
    ++terms;
  }
};

// k and dy: a row of `time`; w: a filter of `taps`.
inline Term output_oracle(const double* k, const double* w, std::int64_t taps, std::int64_t t) {
  Term result;
  for (std::int64_t u = 0; u <= t; ++u)
    if (t - u < taps) result.add(w[taps - 1 - (t - u)], k[u]);
  return result;
}
inline Term k_gradient_oracle(const double* dy, const double* w, std::int64_t time, std::int64_t taps, std::int64_t u) {
  Term result;
  for (std::int64_t t = u; t < time; ++t)
    if (t - u < taps) result.add(w[taps - 1 - (t - u)], dy[t]);
  return result;
}
// One row's part of dw[taps - 1 - lag].
inline void add_w_gradient_oracle(Term& result, const double* dy, const double* k, std::int64_t time,
                                  std::int64_t lag) {
  for (std::int64_t t = lag; t < time; ++t) result.add(dy[t], k[t - lag]);
}

}  // namespace ridge::dwconv_detail
