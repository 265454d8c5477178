// A thread per element, any strides.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/apply_element.hpp>
#include <ridge/core/divider.hpp>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct ElementShape {
  std::int64_t shape[4] = {}, x[4] = {}, y[4] = {};  // n, c, h, w: sizes, strides
  bool channels_innermost = false;
};

// y[n, c, h, w] = its channel's function of x           x, y: [n, c, h, w], any strides. y may be x.
// Precondition: gridDim.x * threads covers the elements. Neighbouring threads are along the innermost axis.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_element(const T* x, T* y, ElementShape s, Parameters parameters) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at_x = 0, at_y = 0, channel = 0;
  const auto take = [&](int axis) {
    const std::uint64_t size = s.shape[axis], outer = quotient(rest, size);
    const std::int64_t i = static_cast<std::int64_t>(rest - outer * size);
    at_x += i * s.x[axis];
    at_y += i * s.y[axis];
    if (axis == 1) channel = i;
    rest = outer;
  };
  if (s.channels_innermost) take(1);
  take(3);
  take(2);
  if (!s.channels_innermost) take(1);
  const std::int64_t image = static_cast<std::int64_t>(rest);
  if (image >= s.shape[0]) return;
  at_x += image * s.x[0];
  at_y += image * s.y[0];
  y[at_y] = T(parameters(channel)(float(x[at_x])));
}

namespace apply::element {

template <class Policy, class T> static Status launch(const ApplyCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  ElementShape s{.channels_innermost = p.layout == BatchNormLayout::nhwc};
  std::copy_n(p.x.shape.begin(), 4, s.shape);
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  return simt::launch(launch_config(call), apply_element<Policy, T>, call.x, call.y, s, call.parameters);
}

}  // namespace apply::element
}  // namespace ridge::batch_norm_detail
