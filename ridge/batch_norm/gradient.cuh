// What the kernels of dx share: of batch statistics dx = scale (dz - shift - (x - mean) slope), where shift is the mean
// of dz and slope that of dz (x - mean), over var + eps; of given ones dx = scale dz. scale = gamma / sqrt(var + eps).
#pragma once
#include <ridge/batch_norm/sums.cuh>

namespace ridge::batch_norm_detail {

// Batch: of batch statistics. Unless dz is dy, it is computed from dy.
template <bool Batch, Dz How> struct GradientChannel {
  float scale, mean, shift, slope, beta;
  __device__ __forceinline__ float operator()(float dz, float x) const {
    if constexpr (Batch) return scale * fmaf(mean - x, slope, dz - shift);
    else return scale * dz;
  }
  __device__ __forceinline__ operator Channel() const { return {mean, scale, beta}; }
};

struct GradientParameters {
  Parameters given;
  const Folded* folded;  // [c], of batch statistics
  Activation activation;

  template <bool Batch, Dz How>
  __device__ __forceinline__ void channel(std::int64_t c, GradientChannel<Batch, How>& of) const {
    if constexpr (Batch) fold(folded[c], of);
    else of = {given.gamma(c, 1) * rsqrtf(given.var(c, 0) + given.eps), given.mean(c, 0), 0, 0, 0};
    if constexpr (How != Dz::is_dy) of.beta = given.beta(c, 0);
  }
  // N neighbouring channels; vectorized: all given parameters are contiguous f32 on 16 bytes.
  template <int N, bool Batch, Dz How>
  __device__ __forceinline__ void gather(std::int64_t c, bool vectorized,
                                         GradientChannel<Batch, How> (&channels)[N]) const {
    if constexpr (Batch) {
#pragma unroll
      for (int i = 0; i < N; ++i) fold(folded[c + i], channels[i]);
    } else {
      float means[N], vars[N], gammas[N];
      given.mean.gather_or(0, c, vectorized, means);
      given.var.gather_or(0, c, vectorized, vars);
      given.gamma.gather_or(1, c, vectorized, gammas);
#pragma unroll
      for (int i = 0; i < N; ++i) channels[i] = {gammas[i] * rsqrtf(vars[i] + given.eps), means[i], 0, 0, 0};
    }
    if constexpr (How != Dz::is_dy) {
      float betas[N];
      given.beta.gather_or(0, c, vectorized, betas);
#pragma unroll
      for (int i = 0; i < N; ++i) channels[i].beta = betas[i];
    }
  }

 private:
  template <bool Batch, Dz How>
  static __device__ __forceinline__ void fold(const Folded& from, GradientChannel<Batch, How>& of) {
    of = {from.scale, from.mean, from.shift, from.slope, 0};
  }
};

// dx of N elements in place of their dy. M: the channels of the elements, N or one.
template <bool Batch, Dz How, int N, int M>
__device__ __forceinline__ void to_dx(Activation activation, const GradientChannel<Batch, How> (&channels)[M],
                                      const float (&x)[N], const float (&residual)[N], float (&dy)[N]) {
  if constexpr (How != Dz::is_dy) {
    Channel forward[M];
#pragma unroll
    for (int i = 0; i < M; ++i) forward[i] = channels[i];
    to_dz<How>(activation, forward, x, residual, dy);
  }
#pragma unroll
  for (int i = 0; i < N; ++i) dy[i] = channels[i % M](dy[i], x[i]);
}

// ---- launch

template <class T> struct GradientCall {
  const BatchNormPlan& plan;
  const T *x, *dz;    // dz: dy, where it is computed again
  const T* residual;  // null: none, or not needed
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

// Launches a family's kernel: kernel_of<Batch, How>(), which the problem asks for.
template <class T, class Shape, class F>
static Status launch_dx(const GradientCall<T>& call, const Shape& s, F&& kernel_of) {
  const BatchNormProblem& p = call.plan.problem;
  return visit_dz(dz_for_dx(p), [&]<Dz How>() {
    return launch_after(
        call.backwards(), call.plan, launch_config(call),
        of_batch(p) ? kernel_of.template operator()<true, How>() : kernel_of.template operator()<false, How>(), call.x,
        call.dz, call.residual, call.dx, s, call.parameters);
  });
}

}  // namespace ridge::batch_norm_detail
