// A gradient's sums: a thread per channel.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_serial.hpp>

namespace ridge::batch_norm_detail {

// A thread per channel.                                 x, dy, residual, dz: [n, c, h, w], any strides
// Precondition: gridDim.x * threads covers the channels.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) sums_serial(SumsTensors<T> t, SumsOutputs out, SumsShape s) {
  const std::int64_t c = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (c >= s.channels) return;
  t.advance(c * s.x[1], c * s.dy[1], c * s.residual[1], c * s.dz[1]);
  const bool activated = s.activation != Activation::none;  // else dz is dy, and scale and beta are not read
  Channel channel[1];
  channel[0] = activated ? out.parameters(c) : Channel{out.parameters.mean(c, 0), 0, 0};
  Sums sums{};
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t h = 0; h < s.h; ++h)
      for (std::int64_t w = 0; w < s.w; ++w) {
        const auto offset = [&](const std::int64_t(&stride)[4]) {
          return n * stride[0] + h * stride[2] + w * stride[3];
        };
        const float x[1] = {float(t.x[offset(s.x)])};
        float dz[1] = {float(t.dy[offset(s.dy)])};
        if (activated) {
          to_dz<Dz::by_any>(s.activation, channel, x, {t.residual ? float(t.residual[offset(s.residual)]) : 0.0f}, dz);
          if (t.dz) t.dz[offset(s.dz)] = T(dz[0]);
        }
        sums.take(dz[0], x[0] - channel[0].mean);
      }
  out.write(c, sums);
}

namespace sums::serial {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  return simt::launch(launch_config(call, Warp), sums_serial<Policy, T>, call.tensors, call.outputs, shape_of(call));
}

}  // namespace sums::serial
}  // namespace ridge::batch_norm_detail
