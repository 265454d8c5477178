// A group's statistics, and what is computed from them: x normalised, y, and gradients before their sums.
#pragma once
#include <ridge/group_norm/access.cuh>
#include <ridge/group_norm/sums.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/activation_slope.cuh>
#include <ridge/tile/channel_parameter.cuh>
#include <ridge/tile/moments.cuh>

namespace ridge::group_norm_detail {

using tile::Moments;

// Moments of a slice of a group, whose mean is relative to the group's first value.
struct Partial {
  Moments moments;
  float base;
};
static_assert(sizeof(Partial) == partial_bytes);

struct Statistics {  // no initialisers: there are some in shared memory
  float center, scale, offset;

  // mean: relative to base. The center is their sum, rounded; what that lost is in the offset.
  static __device__ __forceinline__ Statistics of(float base, float mean, float variance, float eps) {
    const float center = base + mean, rest = base - center + mean;
    const float scale = rsqrtf((variance < 0 ? 0 : variance) + eps);  // a NaN stays
    return {center, scale, -rest * scale};
  }
  __device__ __forceinline__ float operator()(float x) const { return fmaf(x - center, scale, offset); }
};

struct Parameters {
  tile::ChannelParameter gamma, beta;
  bool aligned;  // contiguous f32 on 16 bytes
  float eps;
  Activation activation;
};

// Merges a group's slices; lane 0's result counts, as the lanes' last bits may differ. partials: [slices]
template <int Warp>
__device__ __forceinline__ Statistics merged_statistics(const Partial* partials, unsigned slices, float eps) {
  const simt::tile<Warp> warp;
  Moments m{0, 0, 0};
  for (unsigned i = static_cast<unsigned>(warp.rank()); i < slices; i += Warp) m = tile::merge(m, partials[i].moments);
  m = warp.reduce(m, [](const Moments& a, const Moments& b) { return tile::merge(a, b); });
  return Statistics::of(partials->base, m.mean, m.squares / m.count, eps);
}

// gamma and beta of a thread's items.
template <Access A, class T> class Affine {
  using P = Part<A, T>;
  static constexpr int V = P::V, kept = P::by_columns ? V : 1;

 public:
  __device__ __forceinline__ Affine(const P& part, const Parameters& parameters)
      : part_(part), parameters_(parameters) {
    if constexpr (P::by_columns) {
      parameters.gamma.gather_or(1, part.channel(0, 0), parameters.aligned, gamma_);
      parameters.beta.gather_or(0, part.channel(0, 0), parameters.aligned, beta_);
    }
  }
  // Calls f(gamma, beta), arrays of the item's channels: 1 or all V.
  template <class F> __device__ __forceinline__ void operator()(unsigned item, F&& f) const {
    if constexpr (P::by_columns) {
      f(gamma_, beta_);
    } else if (part_.one_channel()) {
      const std::int64_t c = part_.channel(item, 0);
      const float gamma[1] = {parameters_.gamma(c, 1)}, beta[1] = {parameters_.beta(c, 0)};
      f(gamma, beta);
    } else {
      float gamma[V], beta[V];
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const std::int64_t c = part_.channel(item, v);
        gamma[v] = parameters_.gamma(c, 1);
        beta[v] = parameters_.beta(c, 0);
      }
      f(gamma, beta);
    }
  }

 private:
  const P& part_;
  const Parameters& parameters_;
  float gamma_[kept], beta_[kept];
};

// y of a thread's items, by the statistics of its slots.
template <Access A, class T> class Output {
  using P = Part<A, T>;
  using Values = typename P::Values;
  static constexpr int V = P::V, W = P::slots, kept = P::by_columns ? V : 1;

 public:
  __device__ __forceinline__ Output(const P& part, const Parameters& parameters, const Statistics (&of)[W])
      : affine_(part, parameters), activation_(parameters.activation) {
#pragma unroll
    for (int slot = 0; slot < W; ++slot) of_[slot] = of[slot];
    if constexpr (P::by_columns)
      affine_(0, [&](const float(&gamma)[V], const float(&beta)[V]) { fold(gamma, beta, scale_, shift_); });
  }
  __device__ __forceinline__ Values operator()(unsigned item, Values x) const {
    if constexpr (P::by_columns) apply(x, scale_, shift_);
    else
      affine_(item, [&]<int N>(const float(&gamma)[N], const float(&beta)[N]) {
        float scale[N], shift[N];
        fold(gamma, beta, scale, shift);
        apply(x, scale, shift);
      });
    if constexpr (V == 1) x[0] = tile::activate<T>(activation_, x[0]);
    else tile::activate_many<T>(activation_, x.v);
    return x;
  }

 private:
  // What x - center is multiplied by, and what is added.
  template <int N>
  __device__ __forceinline__ void fold(const float (&gamma)[N], const float (&beta)[N], float (&scale)[N],
                                       float (&shift)[N]) const {
#pragma unroll
    for (int v = 0; v < N; ++v) {
      scale[v] = of_[v % W].scale * gamma[v];
      shift[v] = fmaf(of_[v % W].offset, gamma[v], beta[v]);
    }
  }
  template <int N>
  __device__ __forceinline__ void apply(Values& x, const float (&scale)[N], const float (&shift)[N]) const {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = fmaf(x[v] - of_[v % W].center, scale[v % N], shift[v % N]);
  }

  const Affine<A, T> affine_;
  const Activation activation_;
  Statistics of_[W];
  float scale_[kept], shift_[kept];
};

// ---- gradients

// An item's x normalised, and dz, the gradient of what the activation was given, from dy. N channels: 1 or all V.
template <int V, int W, int N>
__device__ __forceinline__ void normalise_and_unwind(const Statistics (&of)[W], const float (&gamma)[N],
                                                     const float (&beta)[N], Activation activation, float (&x_to_n)[V],
                                                     float (&dy_to_dz)[V]) {
  float z[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    x_to_n[v] = of[v % W](x_to_n[v]);
    z[v] = fmaf(x_to_n[v], gamma[v % N], beta[v % N]);
  }
  tile::times_slope(activation, z, dy_to_dz);
}

// Sums over a group's elements, of g = dz gamma and of g n, where n is x normalised.
struct GradientSums {
  float g, gn;
  friend __device__ __forceinline__ GradientSums operator+(const GradientSums& a, const GradientSums& b) {
    return {a.g + b.g, a.gn + b.gn};
  }
};

// A group's gradient: dx = scale (g - mean_g - n mean_gn).
struct GroupGradient {  // no initialisers: there are some in shared memory
  Statistics of;
  float mean_g, mean_gn;
  __device__ __forceinline__ float operator()(float n, float g) const {
    return of.scale * fmaf(-n, mean_gn, g - mean_g);
  }
};

// dx of an item, from x and dy. affine: gamma and beta of the thread's items
template <Access A, class T>
__device__ __forceinline__ typename Part<A, T>::Values gradient_of_item(
    const Affine<A, T>& affine, const Parameters& parameters, const GroupGradient (&gradient)[Part<A, T>::slots],
    unsigned item, typename Part<A, T>::Values x, typename Part<A, T>::Values dy) {
  constexpr int V = Part<A, T>::V, W = Part<A, T>::slots;
  Statistics of[W];
#pragma unroll
  for (int slot = 0; slot < W; ++slot) of[slot] = gradient[slot].of;
  affine(item, [&]<int N>(const float(&gamma)[N], const float(&beta)[N]) {
    normalise_and_unwind(of, gamma, beta, parameters.activation, x.v, dy.v);
#pragma unroll
    for (int v = 0; v < V; ++v) dy[v] = gradient[v % W](x[v], dy[v] * gamma[v % N]);
  });
  return dy;
}

}  // namespace ridge::group_norm_detail
