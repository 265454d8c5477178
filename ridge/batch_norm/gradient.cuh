// What the kernels of dx share: of batch statistics dx = scale (dy - shift - (x - mean) slope), where shift is the mean
// of dy and slope that of dy (x - mean), over var + eps; of given ones dx = scale dy. scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/sums.cuh>

namespace ridge::batch_norm_detail {

template <bool Batch> struct GradientChannel {
  float scale, mean, shift, slope;
  __device__ __forceinline__ float operator()(float dy, float x) const {
    if constexpr (Batch) return scale * fmaf(mean - x, slope, dy - shift);
    else return scale * dy;
  }
};

struct GradientParameters {
  Parameter mean, var, gamma;
  const Sums* totals;  // [c], of batch statistics
  float eps, count;    // count: elements of a channel

  template <bool Batch> __device__ __forceinline__ GradientChannel<Batch> channel(std::int64_t c) const {
    return of<Batch>(c, mean(c, 0), var(c, 0), gamma(c, 1));
  }
  // N neighbouring channels; vectorized: all given parameters are contiguous f32 on 16 bytes.
  template <int N, bool Batch>
  __device__ __forceinline__ void gather(std::int64_t c, bool vectorized, GradientChannel<Batch> (&channels)[N]) const {
    float means[N], vars[N], gammas[N];
    mean.gather_or(0, c, vectorized, means);
    var.gather_or(0, c, vectorized, vars);
    gamma.gather_or(1, c, vectorized, gammas);
#pragma unroll
    for (int i = 0; i < N; ++i) channels[i] = of<Batch>(c + i, means[i], vars[i], gammas[i]);
  }

 private:
  template <bool Batch>
  __device__ __forceinline__ GradientChannel<Batch> of(std::int64_t c, float of_mean, float of_var,
                                                       float of_gamma) const {
    const float inverse = rsqrtf(of_var + eps);
    GradientChannel<Batch> channel{of_gamma * inverse, of_mean, 0, 0};
    if constexpr (Batch) {
      const Sums sums = totals[c];
      channel.shift = sums.dy / count;
      channel.slope = sums.dyx / count * inverse * inverse;
    }
    return channel;
  }
};

// ---- launch

template <class T> struct GradientCall {
  const BatchNormPlan& plan;
  const T *x, *dy;
  T* dx;
  GradientParameters parameters;
  Stream stream;

  // The sums go through x and dy from the beginning, so the L2 cache has the end.
  bool backwards() const { return has_sums(plan.problem); }
};

template <class T> static simt::Config launch_config(const GradientCall<T>& call) {
  const BatchNormPlan& plan = call.plan;
  const ApplyVariant& row = gradient_variants[plan.apply_variant];
  return launch_config(gradient_family_of(row).footprint(row, plan.problem, plan.device), call.stream,
                       plan.device.warp);
}

}  // namespace ridge::batch_norm_detail
