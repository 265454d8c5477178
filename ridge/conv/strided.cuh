// A problem in 64 bits, for the kernels that take any strides and sizes.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

// All fields are 64-bit. Strides are of n c h w d, n k i j l and k c r s t; those of x or w are dx's or dw's where a
// gradient is computed. An image has one slice, d = 0.
struct StridedShape {
  std::int64_t images, channels, filters;  // channels and filters of a group
  std::int64_t groups;
  Axis h, w, d;
  std::int64_t x[5] = {}, y[5] = {}, f[5] = {};

  __device__ __forceinline__ std::int64_t x_at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j,
                                               std::int64_t l = 0) const {
    return n * x[0] + c * x[1] + i * x[2] + j * x[3] + l * x[4];
  }
  __device__ __forceinline__ std::int64_t y_at(std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j,
                                               std::int64_t l = 0) const {
    return n * y[0] + k * y[1] + i * y[2] + j * y[3] + l * y[4];
  }
  __device__ __forceinline__ std::int64_t f_at(std::int64_t k, std::int64_t c, std::int64_t a, std::int64_t b,
                                               std::int64_t t = 0) const {
    return k * f[0] + c * f[1] + a * f[2] + b * f[3] + t * f[4];
  }
};

__device__ __forceinline__ std::int64_t whole_quotient(std::int64_t a, std::int64_t b) {  // a >= 0, b > 0
  return static_cast<std::int64_t>(quotient(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

// Elements outside count as zero, and are multiplied too.
template <class T> __device__ __forceinline__ float or_zero(const T* data, std::int64_t at, bool inside) {
  return inside ? float(data[at]) : 0.0f;
}

static inline StridedShape strided_shape(const ConvProblem& p, const Layout& x, const Layout& w) {
  StridedShape s{.images = p.x.shape[0],
                 .channels = channels_of_group(p),
                 .filters = filters_of_group(p),
                 .groups = p.geometry.groups,
                 .h = axis_h(p),
                 .w = axis_w(p),
                 .d = axis_d(p)};
  std::copy_n(x.stride.begin(), x.rank, s.x);
  std::copy_n(p.y.stride.begin(), p.y.rank, s.y);
  std::copy_n(w.stride.begin(), w.rank, s.f);
  return s;
}

}  // namespace ridge::conv_detail
