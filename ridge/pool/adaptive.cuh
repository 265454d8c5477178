// Adaptive pooling, whose windows may differ in size and overlap: a thread per output, or per 16 bytes of its channels.
#pragma once
#include <ridge/pool/access.cuh>
#include <ridge/pool/adaptive.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>

#include <algorithm>

namespace ridge::pool_detail {

struct AdaptiveShape {  // sizes h and w of x; sizes of y and strides of both, along n, c, h, w; c of y: vectors
  std::int64_t h, w, outputs[4] = {}, x[4] = {}, y[4] = {};
  bool channels_innermost = false;
};

// y[n, c, i, j] = mean of the window's x                x: [n, c, h, w]  y: [n, c, oh, ow], any strides
// Preconditions: gridDim.x * threads covers y's vectors of channels; h oh and w ow below 2^62; vectors of
// channels: refuse_channels() is empty. Threads are ordered along y's innermost axis.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) pool_adaptive(const T* x, T* y, AdaptiveShape p) {
  constexpr int V = elements_at_once<T, Policy::config.vectors>;
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at[4];  // n, c, i, j
  const auto take = [&](int axis) {
    const std::uint64_t size = p.outputs[axis], outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  if (p.channels_innermost) take(1);
  take(3);
  take(2);
  if (!p.channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  if (at[0] >= p.outputs[0]) return;

  const AdaptiveSpan rows(at[2], p.h, p.outputs[2]), cols(at[3], p.w, p.outputs[3]);
  x += at[0] * p.x[0] + at[1] * V * p.x[1];
  y += at[0] * p.y[0] + at[1] * V * p.y[1] + at[2] * p.y[2] + at[3] * p.y[3];
  simt::vec<float, V> sum = {};
  for (std::int64_t i = rows.begin; i < rows.end; ++i)
#pragma unroll 4
    for (std::int64_t j = cols.begin; j < cols.end; ++j) {
      const simt::vec<float, V> in = load_floats<T, V>(x + i * p.x[2] + j * p.x[3]);
#pragma unroll
      for (int v = 0; v < V; ++v) sum[v] += in[v];
    }
  const float count = float(rows.size() * cols.size());
#pragma unroll
  for (int v = 0; v < V; ++v) sum[v] = Mean::finish<T>(sum[v], count, 1.0f / count);
  store_floats<T, V>(y, sum);
}

namespace adaptive {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const PoolProblem& p = call.plan.problem;
  AdaptiveShape s{.h = p.x.shape[2], .w = p.x.shape[3], .channels_innermost = p.layout == PoolLayout::nhwc};
  std::copy_n(p.y.shape.begin(), 4, s.outputs);
  if (is_vectorized(Policy::config)) s.outputs[1] /= vector_elements(p.dtype);
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  return simt::launch(launch_config(call), pool_adaptive<Policy, T>, call.x, call.y, s);
}

}  // namespace adaptive
}  // namespace ridge::pool_detail
