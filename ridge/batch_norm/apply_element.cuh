// A thread per element, any strides.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/apply_element.hpp>
#include <ridge/core/divider.hpp>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct ElementShape {
  std::int64_t shape[4] = {}, x[4] = {}, y[4] = {}, residual[4] = {};  // n, c, h, w: sizes, strides
  bool channels_innermost = false;
  Activation activation = Activation::none;
};

// y[n, c, h, w] = act(its channel's function of x + residual)  x, y, residual: [n, c, h, w], any strides
// residual may be null. y may be x or residual.
// Precondition: gridDim.x * threads covers the elements. Neighbouring threads are along the innermost axis.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_element(const T* x, const T* residual, T* y, ElementShape s, Parameters parameters) {
  tile::grid_dependency_wait();  // for the statistics
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at_x = 0, at_y = 0, at_residual = 0, channel = 0;
  const auto add = [&](int axis, std::int64_t i) {
    at_x += i * s.x[axis];
    at_y += i * s.y[axis];
    at_residual += i * s.residual[axis];
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
  float of_y[1] = {parameters(channel)(float(x[at_x]))};
  if (residual || s.activation != Activation::none)
    finish<T>(s.activation, {residual ? float(residual[at_residual]) : 0.0f}, of_y);
  y[at_y] = T(of_y[0]);
}

namespace apply::element {

template <class Policy, class T> static Status launch(const ApplyCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  ElementShape s{.channels_innermost = p.options.layout == BatchNormLayout::nhwc, .activation = p.options.activation};
  std::copy_n(p.x.shape.begin(), 4, s.shape);
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  if (p.residual) std::copy_n(p.of_residual.stride.begin(), 4, s.residual);
  return launch_after(call.backwards(), call.plan, launch_config(call), apply_element<Policy, T>, call.x, call.residual,
                      call.y, s, call.parameters);
}

}  // namespace apply::element
}  // namespace ridge::batch_norm_detail
