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
  // Along the depth; an image has one slice, and a filter of it one tap there.
  std::int64_t d = 1, t = 1, od = 1, stride_d = 1, front = 0, dilation_d = 1;
  using At = std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
  At x, filter, dy;  // elements by n c h w d, k c r s t, n k i j l

  Term output(std::int64_t image, std::int64_t f, std::int64_t i, std::int64_t j, std::int64_t l = 0) const {
    Term term;
    const std::int64_t first = f / (k / groups) * (c / groups);
    for (std::int64_t ch = 0; ch < c / groups; ++ch)
      for (std::int64_t e = 0; e < t; ++e)
        for (std::int64_t a = 0; a < r; ++a)
          for (std::int64_t b = 0; b < s; ++b)
            term.add(padded(image, first + ch, i * stride_h + a * dilation_h, j * stride_w + b * dilation_w,
                            l * stride_d + e * dilation_d),
                     filter(f, ch, a, b, e));
    return term;
  }
  Term filter_gradient(std::int64_t f, std::int64_t ch, std::int64_t a, std::int64_t b, std::int64_t e = 0) const {
    Term term;
    const std::int64_t channel = f / (k / groups) * (c / groups) + ch;
    for (std::int64_t image = 0; image < n; ++image)
      for (std::int64_t l = 0; l < od; ++l)
        for (std::int64_t i = 0; i < oh; ++i)
          for (std::int64_t j = 0; j < ow; ++j)
            term.add(dy(image, f, i, j, l), padded(image, channel, i * stride_h + a * dilation_h,
                                                   j * stride_w + b * dilation_w, l * stride_d + e * dilation_d));
    return term;
  }
  // Adds every tap that multiples of the stride bring to this element, with zeros where they are outside of dy.
  Term input_gradient(std::int64_t image, std::int64_t channel, std::int64_t y, std::int64_t z,
                      std::int64_t slice = 0) const {
    Term term;
    const std::int64_t group = channel / (c / groups), filters = k / groups;
    for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f)
      for (std::int64_t e = 0; e < t; ++e)
        for (std::int64_t a = 0; a < r; ++a)
          for (std::int64_t b = 0; b < s; ++b) {
            const std::int64_t i = y + top - a * dilation_h, j = z + left - b * dilation_w,
                               l = slice + front - e * dilation_d;
            if (i % stride_h != 0 || j % stride_w != 0 || l % stride_d != 0) continue;
            const bool inside =
                i >= 0 && j >= 0 && l >= 0 && i / stride_h < oh && j / stride_w < ow && l / stride_d < od;
            term.add(inside ? dy(image, f, i / stride_h, j / stride_w, l / stride_d) : 0,
                     filter(f, channel - group * (c / groups), a, b, e));
          }
    return term;
  }

 private:
  // The padded image, from its corner.
  double padded(std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j, std::int64_t l) const {
    i -= top;
    j -= left;
    l -= front;
    const bool inside = i >= 0 && i < h && j >= 0 && j < w && l >= 0 && l < d;
    return inside ? x(image, channel, i, j, l) : 0;
  }
};

}  // namespace ridge::conv_detail
