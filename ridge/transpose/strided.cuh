// Any strides, a unit per thread.
#pragma once
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/pieces.cuh>
#include <ridge/transpose/strided.hpp>

namespace ridge::transpose_detail {

// A unit per thread, in y's order, over all axes.                                              x, y: [axes], strided
// Precondition: gridDim.x * threads covers the axes' n units.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) permute_strided(const T* x, T* y, std::int64_t n, Axes axes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (i >= n) return;
  const Axes::Offsets at = axes(i);
  y[at.y] = x[at.x];
}

namespace strided {

// Every axis of a form, y's fastest last.
[[maybe_unused]] static Axes all_axes(const Form& f) {
  Axes axes = f.outer;
  if (f.kind == Kind::matrices) {
    axes.push(f.cols, 1, f.pitch_y);
    axes.push(f.rows, f.pitch_x, 1);
  } else if (f.kind != Kind::strided) {
    axes.push(f.cols, 1, 1);
  }
  return axes;
}

template <class Policy, class T> static Status launch(const Call<T>& call) {
  return simt::launch(launch_config(call), permute_strided<Policy, T>, call.x, call.y, call.form.count(),
                      all_axes(call.form));
}

}  // namespace strided
}  // namespace ridge::transpose_detail
