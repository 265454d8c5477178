// A gradient's sums: a thread per channel.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_serial.hpp>

namespace ridge::batch_norm_detail {

// A thread per channel.                                 x, dy: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers the channels.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    sums_serial(const T* x, const T* dy, SumsOutputs out, SumsShape s) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (channel >= s.channels) return;
  x += channel * s.x[1];
  dy += channel * s.dy[1];
  const float mean = out.mean(channel, 0);
  Sums sums{};
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t h = 0; h < s.h; ++h)
      for (std::int64_t w = 0; w < s.w; ++w)
        sums.take(float(dy[n * s.dy[0] + h * s.dy[2] + w * s.dy[3]]),
                  float(x[n * s.x[0] + h * s.x[2] + w * s.x[3]]) - mean);
  out.write(channel, sums);
}

namespace sums::serial {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  return simt::launch(launch_config(call, Warp), sums_serial<Policy, T>, call.x, call.dy, call.outputs, shape_of(call));
}

}  // namespace sums::serial
}  // namespace ridge::batch_norm_detail
