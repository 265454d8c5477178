// A thread per output: any window, any strides.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>
#include <ridge/pool/naive.hpp>

#include <algorithm>

namespace ridge::pool_detail {

struct NaiveWindow {
  PoolPair size, stride, pad, dilation;  // pad: above and on the left
  bool count_include_pad;
};
struct Axes {  // sizes h and w of x; sizes of y and strides of both, along n, c, h, w
  std::int64_t h, w, outputs[4] = {}, x[4] = {}, y[4] = {};
};

// y[n, c, i, j] = F of a window of x                    x: [n, c, h, w]  y: [n, c, oh, ow], any strides
// Precondition: gridDim.x * threads covers y. Threads are ordered along y's innermost axis.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    pool_naive(const T* x, T* y, Axes axes, NaiveWindow window, bool channels_innermost,
               PaddedPlane<std::int64_t> padded) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at[4];  // n, c, i, j
  const auto take = [&](int axis) {
    const std::uint64_t size = axes.outputs[axis], outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  if (channels_innermost) take(1);
  take(3);
  take(2);
  if (!channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  if (at[0] >= axes.outputs[0]) return;

  const std::int64_t top = at[2] * window.stride.h - window.pad.h, left = at[3] * window.stride.w - window.pad.w;
  x += at[0] * axes.x[0] + at[1] * axes.x[1];
  y += at[0] * axes.y[0] + at[1] * axes.y[1] + at[2] * axes.y[2] + at[3] * axes.y[3];
  float result = F::neutral();
  std::int64_t inside = 0;
  for (std::int64_t a = 0; a < window.size.h; ++a) {
    const std::int64_t i = top + a * window.dilation.h;
    if (i < 0 || i >= axes.h) continue;
    for (std::int64_t b = 0; b < window.size.w; ++b) {
      const std::int64_t j = left + b * window.dilation.w;
      if (j < 0 || j >= axes.w) continue;
      result = F::combine(result, float(x[i * axes.x[2] + j * axes.x[3]]));
      ++inside;
    }
  }
  float count;
  if constexpr (F::clips) count = padded.taps(top, left, window.size.h, window.size.w);
  else count = float(window.count_include_pad ? window.size.h * window.size.w : inside);
  *y = T(F::template finish<T>(result, count, 1.0f / count));
}

namespace naive {

template <class Policy, class F, class T> static Status launch(const Call<T>& call) {
  const PoolProblem& p = call.plan.problem;
  Axes axes{.h = p.x.shape[2], .w = p.x.shape[3]};
  std::copy_n(p.y.shape.begin(), 4, axes.outputs);
  std::copy_n(p.x.stride.begin(), 4, axes.x);
  std::copy_n(p.y.stride.begin(), 4, axes.y);
  const PoolWindow& w = p.window;
  const NaiveWindow window{w.size, w.stride, {w.pad.top, w.pad.left}, w.dilation, counts_padding(p)};
  return simt::launch(launch_config(call), pool_naive<Policy, F, T>, call.x, call.y, axes, window,
                      p.layout == PoolLayout::nhwc, padded_plane<std::int64_t>(p));
}

}  // namespace naive
}  // namespace ridge::pool_detail
