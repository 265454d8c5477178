// A thread per channel, two passes.
#pragma once
#include <ridge/batch_norm/stats.cuh>
#include <ridge/batch_norm/stats_serial.hpp>

namespace ridge::batch_norm_detail {

// A thread per channel.                                 x: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers the channels; n h w >= 1.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) stats_serial(const T* x, Results results, StatsShape s) {
  const std::int64_t channel = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (channel >= s.channels) return;
  x += channel * s.stride[1];
  const float base = float(*x);
  const auto sum = [&](auto&& f) {
    float total = 0;
    for (std::int64_t n = 0; n < s.n; ++n)
      for (std::int64_t h = 0; h < s.h; ++h)
        for (std::int64_t w = 0; w < s.w; ++w)
          total += f(float(x[n * s.stride[0] + h * s.stride[2] + w * s.stride[3]]) - base);
    return total;
  };
  Moments m{};
  m.count = float(s.n * s.h * s.w);
  m.mean = sum([](float d) { return d; }) / m.count;
  m.squares = sum([&](float d) { return (d - m.mean) * (d - m.mean); });
  results.write(channel, m, base);
}

namespace stats::serial {

template <class Policy, class T, int Warp> static Status launch(const StatsCall<T>& call) {
  return simt::launch(launch_config(call, Warp), stats_serial<Policy, T>, call.x, call.results, shape_of(call));
}

}  // namespace stats::serial
}  // namespace ridge::batch_norm_detail
