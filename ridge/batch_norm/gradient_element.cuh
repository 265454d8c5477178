// dx by a thread per element, any strides.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_element.hpp>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct GradientElementShape {
  std::int64_t shape[4] = {}, x[4] = {}, dy[4] = {}, dx[4] = {};  // n, c, h, w: sizes, strides
  bool channels_innermost = false;
};

// dx[n, c, h, w] = its channel's function of dy and x   x, dy, dx: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers the elements. Neighbouring threads are along the innermost axis.
template <class Policy, class T, bool Batch>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_element(const T* x, const T* dy, T* dx, GradientElementShape s, GradientParameters parameters) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at_x = 0, at_dy = 0, at_dx = 0, channel = 0;
  const auto add = [&](int axis, std::int64_t i) {
    at_x += i * s.x[axis];
    at_dy += i * s.dy[axis];
    at_dx += i * s.dx[axis];
  };
  const auto take = [&](int axis) {
    const std::uint64_t size = s.shape[axis], outer = quotient(rest, size);
    const std::int64_t i = static_cast<std::int64_t>(rest - outer * size);
    add(axis, i);
    if (axis == 1) channel = i;
    rest = outer;
  };
  if (s.channels_innermost) take(1);
  take(3);
  take(2);
  if (!s.channels_innermost) take(1);
  const std::int64_t image = static_cast<std::int64_t>(rest);
  if (image >= s.shape[0]) return;
  add(0, image);
  const float value = Batch ? float(x[at_x]) : 0.0f;
  dx[at_dx] = T(parameters.channel<Batch>(channel)(float(dy[at_dy]), value));
}

namespace gradient::element {

template <class Policy, class T> static Status launch(const GradientCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  GradientElementShape s{.channels_innermost = p.layout == BatchNormLayout::nhwc};
  std::copy_n(p.x.shape.begin(), 4, s.shape);
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.dy.stride.begin(), 4, s.dy);
  std::copy_n(p.y.stride.begin(), 4, s.dx);
  const simt::Config at = launch_config(call);
  if (of_batch(p))
    return simt::launch(at, gradient_element<Policy, T, true>, call.x, call.dy, call.dx, s, call.parameters);
  return simt::launch(at, gradient_element<Policy, T, false>, call.x, call.dy, call.dx, s, call.parameters);
}

}  // namespace gradient::element
}  // namespace ridge::batch_norm_detail
