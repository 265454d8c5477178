// What the kernels of y = (x - mean) * scale + beta share, where scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/launch.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::batch_norm_detail {

// One of mean, var, gamma and beta: [c], any of the types, any stride; null: not given.
struct Parameter {
  const void* data = nullptr;
  std::int64_t stride = 1;
  DType dtype = DType::f32;

  __device__ __forceinline__ float operator()(std::int64_t c, float otherwise) const {
    if (!data) return otherwise;
    if (dtype == DType::f16) return static_cast<const half*>(data)[c * stride];
    if (dtype == DType::bf16) return static_cast<const bfloat16*>(data)[c * stride];
    return static_cast<const float*>(data)[c * stride];
  }
  // Loads channels c to c + N - 1. It branches on the type once: once per channel would take the compiler seconds.
  template <int N> __device__ __forceinline__ void gather(std::int64_t c, float (&values)[N]) const {
    const auto take = [&](const auto* from) {
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = float(from[(c + i) * stride]);
    };
    if (dtype == DType::f16) take(static_cast<const half*>(data));
    else if (dtype == DType::bf16) take(static_cast<const bfloat16*>(data));
    else take(static_cast<const float*>(data));
  }
  // The same for contiguous f32 on 16 bytes.
  template <int N> __device__ __forceinline__ void gather_vectors(std::int64_t c, float (&values)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const simt::vec<float, 4> four = simt::load<4>(static_cast<const float*>(data) + c + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) values[i + k] = four[k];
    }
  }
};

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
#pragma unroll
      for (int i = 0; i < N; ++i) values[i] = otherwise;
      if (parameter.data && vectorized) parameter.gather_vectors(c, values);
      else if (parameter.data) parameter.gather(c, values);
#pragma unroll
      for (int i = 0; i < N; ++i) take(channels[i], values[i]);
    };
    each(mean, 0, [](Channel& ch, float v) { ch.mean = v; });
    each(var, 0, [&](Channel& ch, float v) { ch.scale = rsqrtf(v + eps); });
    each(gamma, 1, [](Channel& ch, float v) { ch.scale *= v; });
    each(beta, 0, [](Channel& ch, float v) { ch.beta = v; });
  }
};

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
  const T* x;
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
