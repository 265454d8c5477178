// dx by a thread per element, any strides.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_element.hpp>

#include <algorithm>

namespace ridge::batch_norm_detail {

struct GradientElementShape {
  std::int64_t shape[4] = {}, x[4] = {}, dz[4] = {}, dx[4] = {}, residual[4] = {};  // n, c, h, w: sizes, strides
  bool channels_innermost = false;
};

// dx[n, c, h, w] = its channel's function of dz and x   x, dz, dx, residual: [n, c, h, w], any strides
// `dz` has dy where dz is computed, by residual if it is given.
// Precondition: gridDim.x * threads covers the elements. Neighbouring threads are along the innermost axis.
template <class Policy, class T, bool Batch, Dz How>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_element(const T* x, const T* dz, const T* residual, T* dx, GradientElementShape s,
                     GradientParameters parameters) {
  constexpr bool recomputed = How != Dz::is_dy;
  tile::grid_dependency_wait();  // for the sums, and dz where it was stored
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at_x = 0, at_dz = 0, at_dx = 0, at_residual = 0, channel = 0;
  const auto add = [&](int axis, std::int64_t i) {
    at_x += i * s.x[axis];
    at_dz += i * s.dz[axis];
    at_dx += i * s.dx[axis];
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
  const float value[1] = {Batch || recomputed ? float(x[at_x]) : 0.0f};
  const float added[1] = {recomputed && residual ? float(residual[at_residual]) : 0.0f};
  float gradient[1] = {float(dz[at_dz])};
  GradientChannel<Batch, How> here[1];
  parameters.channel(channel, here[0]);
  to_dx(parameters.activation, here, value, added, gradient);
  dx[at_dx] = T(gradient[0]);
}

namespace gradient::element {

template <class Policy, class T> static Status launch(const GradientCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  GradientElementShape s{.channels_innermost = p.options.layout == BatchNormLayout::nhwc};
  std::copy_n(p.x.shape.begin(), 4, s.shape);
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(read_for_dz(p).stride.begin(), 4, s.dz);
  std::copy_n(p.y.stride.begin(), 4, s.dx);
  if (call.residual) std::copy_n(p.of_residual.stride.begin(), 4, s.residual);
  return launch_dx(call, s, []<bool Batch, Dz How>() { return gradient_element<Policy, T, Batch, How>; });
}

}  // namespace gradient::element
}  // namespace ridge::batch_norm_detail
