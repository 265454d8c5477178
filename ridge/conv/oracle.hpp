// The convolution and its gradients in double, by definition; shares nothing with the kernels. Tolerances are derived
// from `size`, the sum of the terms' magnitudes, and `terms`, their number.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>

namespace ridge::conv_detail {

struct Term {
  double sum = 0, size = 0;
  std::int64_t terms = 0;
  void add(double a, double b) {
    sum += a * b;
    size += std::fabs(a * b);
    ++terms;
  }
};

struct ConvOracle {
  std::int64_t n, c, h, w, k, r, s, oh, ow;
  std::int64_t stride_h, stride_w, top, left, dilation_h, dilation_w, groups;
  using At = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
  At x, filter, dy;  // elements by n c h w, k c r s, n k i j

  Term output(std::int64_t image, std::int64_t f, std::int64_t i, std::int64_t j) const {
    Term t;
    const std::int64_t first = f / (k / groups) * (c / groups);
    for (std::int64_t ch = 0; ch < c / groups; ++ch)
      for (std::int64_t a = 0; a < r; ++a)
        for (std::int64_t b = 0; b < s; ++b)
          t.add(padded(image, first + ch, i * stride_h + a * dilation_h, j * stride_w + b * dilation_w),
                filter(f, ch, a, b));
    return t;
  }
  Term filter_gradient(std::int64_t f, std::int64_t ch, std::int64_t a, std::int64_t b) const {
    Term t;
    const std::int64_t channel = f / (k / groups) * (c / groups) + ch;
    for (std::int64_t image = 0; image < n; ++image)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j)
          t.add(dy(image, f, i, j),
                padded(image, channel, i * stride_h + a * dilation_h, j * stride_w + b * dilation_w));
    return t;
  }
  // Adds every tap that multiples of the stride bring to this element, with zeros where they are outside of dy.
  Term input_gradient(std::int64_t image, std::int64_t channel, std::int64_t y, std::int64_t z) const {
    Term t;
    const std::int64_t group = channel / (c / groups), filters = k / groups;
    for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f)
      for (std::int64_t a = 0; a < r; ++a)
        for (std::int64_t b = 0; b < s; ++b) {
          const std::int64_t i = y + top - a * dilation_h, j = z + left - b * dilation_w;
          if (i % stride_h != 0 || j % stride_w != 0) continue;
          const bool inside = i >= 0 && j >= 0 && i / stride_h < oh && j / stride_w < ow;
          t.add(inside ? dy(image, f, i / stride_h, j / stride_w) : 0, filter(f, channel - group * (c / groups), a, b));
        }
    return t;
  }

 private:
  // The padded image, from its corner.
  double padded(std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j) const {
    i -= top;
    j -= left;
    return i >= 0 && i < h && j >= 0 && j < w ? x(image, channel, i, j) : 0;
  }
};

}  // namespace ridge::conv_detail
