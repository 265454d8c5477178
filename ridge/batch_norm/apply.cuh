// What the kernels of y = act((x - mean) * scale + beta + residual) share, where scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/launch.cuh>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/channel_parameter.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::batch_norm_detail {

using Parameter = tile::ChannelParameter;

struct Channel {
  float mean, scale, beta;
  // The difference first: x * scale + (beta - mean * scale) would lose it if the mean is far greater.
  __device__ __forceinline__ float operator()(float x) const { return fmaf(x - mean, scale, beta); }
};

struct Parameters {
  Parameter mean, var, gamma, beta;
  float eps;

  __device__ __forceinline__ Channel operator()(std::int64_t c) const {
    return {mean(c, 0), gamma(c, 1) * rsqrtf(var(c, 0) + eps), beta(c, 0)};
  }
  // N neighbouring channels; vectorized: all given parameters are contiguous f32 on 16 bytes.
  template <int N>
  __device__ __forceinline__ void gather(std::int64_t c, bool vectorized, Channel (&channels)[N]) const {
    const auto each = [&](const Parameter& parameter, float otherwise, auto&& take) {
      float values[N];
      parameter.gather_or(otherwise, c, vectorized, values);
#pragma unroll
      for (int i = 0; i < N; ++i) take(channels[i], values[i]);
    };
    each(mean, 0, [](Channel& ch, float v) { ch.mean = v; });
    each(var, 0, [&](Channel& ch, float v) { ch.scale = rsqrtf(v + eps); });
    each(gamma, 1, [](Channel& ch, float v) { ch.scale *= v; });
    each(beta, 0, [](Channel& ch, float v) { ch.beta = v; });
  }
};

// What follows the norm of N elements: the residual's, 0 without one, and the activation. T: of y.
template <class T, int N>
__device__ __forceinline__ void finish(Activation activation, const float (&residual)[N], float (&y)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) y[i] += residual[i];
  if constexpr (N == 1) y[0] = tile::activate<T>(activation, y[0]);
  else tile::activate_many<T>(activation, y);
}

// A block's number; blocks go through memory from its beginning, or backwards from its end.
__device__ __forceinline__ unsigned block_number(bool backwards) {
  return backwards ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
}
// Backwards, x is partly in the L2 cache and should stay there until it is read: so stores are evict-first.
template <class T> __device__ __forceinline__ void put(T* y, const tile::Packed& out, bool backwards) {
  if (backwards) simt::store_streaming(y, tile::unpack<T>(out));
  else tile::store_packed(y, out);
}

// ---- launch

template <class T> struct ApplyCall {
  const BatchNormPlan& plan;
  const T *x, *residual;  // residual: null without one
  T* y;
  Parameters parameters;
  Stream stream;

  // The statistics go through x from its beginning, so the L2 cache has its end.
  bool backwards() const { return plan.problem.function == BatchNorm::train; }
};

template <class T> static simt::Config launch_config(const ApplyCall<T>& call) {
  const BatchNormPlan& plan = call.plan;
  const ApplyVariant& row = apply_variants[plan.apply_variant];
  return launch_config(family_of(row).footprint(row, plan.problem, plan.device), call.stream, plan.device.warp);
}

}  // namespace ridge::batch_norm_detail
