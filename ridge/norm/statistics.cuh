// A row's mean and variance, and the sums that its gradient needs.
//
// The first pass takes the mean; the second one differences from it, and what these sum up to is the mean's own
// rounding error. Where a row lies in registers, one pass takes distances from its first element, their sum and that of
// their squares (Spread); only if that element was far from the mean, a second one takes differences from it. Nothing
// of the mean's size is squared or subtracted from its like, but by short.cuh and even.cuh: they take distances from 0,
// and others only of rows whose mean is more than two standard deviations from it.
//
// Kernels hand over each(f), which calls f(x, exists) for every element of the row that this lane has: from registers,
// shared memory or memory. Elements that do not exist may come too, as zeros: a branch around them would cost more.
// end_pass() stands between passes (tile/row_units.cuh).
#pragma once
#include <ridge/norm/arguments.cuh>
#include <ridge/tile/row_lanes.cuh>

#include <limits>

namespace ridge::norm_detail {

__device__ __forceinline__ float reciprocal_root(float x) { return rsqrtf(x); }
__device__ __forceinline__ double reciprocal_root(double x) { return ::rsqrt(x); }
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) <= std::numeric_limits<float>::max(); }
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= std::numeric_limits<double>::max(); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return ::fma(a, b, c); }

template <class X> struct Statistics {
  X base, offset, scale;  // of x, what is normalised is (x - base) * scale + offset
  __device__ __forceinline__ X operator()(X x) const { return multiply_add(x - base, scale, offset); }
  __device__ __forceinline__ X operator()(X x, X gamma, X beta) const { return multiply_add((*this)(x), gamma, beta); }
};

// `first` and `squares` are the means of x - base and of its square.
template <class X> __device__ __forceinline__ Statistics<X> statistics_of(X base, X first, X squares, X eps) {
  const X variance = multiply_add(-first, first, squares);
  const X scale = reciprocal_root((variance < X(0) ? X(0) : variance) + eps);  // a NaN stays
  return {base, -first * scale, scale};
}

template <class X> struct Differences {
  X first, squares;  // sums of x - base and of its square
  __device__ __forceinline__ void add(X d) {
    first += d;
    squares = multiply_add(d, d, squares);
  }
  friend __device__ __forceinline__ Differences operator+(const Differences& a, const Differences& b) {
    return {a.first + b.first, a.squares + b.squares};
  }
};
template <class X> struct GradientSums {
  X first, squares, g, gd;  // and of g = dy gamma, and g (x - base)
  __device__ __forceinline__ void add(X d, X gradient) {
    first += d;
    squares = multiply_add(d, d, squares);
    g += gradient;
    gd = multiply_add(gradient, d, gd);
  }
  friend __device__ __forceinline__ GradientSums operator+(const GradientSums& a, const GradientSums& b) {
    return {a.first + b.first, a.squares + b.squares, a.g + b.g, a.gd + b.gd};
  }
};

template <class X> __device__ __forceinline__ X plus(X a, X b) { return a + b; }

// Shared memory of a row's reductions. Where a block goes through several rows, it takes turns between two.
template <class Team, class X> struct Scratch {
  typename Team::template Scratch<X> mean;
  typename Team::template Scratch<Differences<X>> differences;
};
template <class Team, class X> struct GradientScratch {
  typename Team::template Scratch<X> mean;
  typename Team::template Scratch<GradientSums<X>> sums;
};

// How a kernel takes a row's statistics: in the type it computes in, as below. Otherwise: two_float.cuh.
struct PlainSums {
  static constexpr bool plain = true;
  template <class Team, class X> using Scratch = norm_detail::Scratch<Team, X>;
};

// What sums of elements are taken of: else they leave X's range where elements are large and many. A power of two, so
// that no bits are lost.
inline constexpr float sum_share = 0x1p-31f;

template <class Team, class X, class S, class Each>
__device__ __forceinline__ X mean_of(Each&& each, X cols, S& scratch) {
  X sum = 0;
  each([&](X x, bool) { sum = multiply_add(x, X(sum_share), sum); });
  return Team::reduce(sum, plus<X>, scratch) / (cols * X(sum_share));
}

template <class Team, class X, class Each, class EndPass>
__device__ __forceinline__ Statistics<X> row_statistics(Each&& each, EndPass&& end_pass, X cols, X eps, bool rms,
                                                        Scratch<Team, X>& scratch) {
  const X base = rms ? X(0) : mean_of<Team>(each, cols, scratch.mean);
  end_pass();
  Differences<X> s{X(0), X(0)};  // the first by its share, as in mean_of()
  each([&](X x, bool exists) {
    const X d = x - (exists ? base : X(0));
    s = {multiply_add(d, X(sum_share), s.first), multiply_add(d, d, s.squares)};
  });
  s = Team::reduce(s, plus<Differences<X>>, scratch.differences);
  end_pass();
  return statistics_of(base, rms ? X(0) : s.first / (cols * X(sum_share)), s.squares / cols, eps);
}

// Of distances from a base: their mean, and the sum of squared differences from it.
template <class X> struct Spread {
  X mean, squares;
  // per_element: 1 over the number of elements; 0 leaves the base itself as the mean,
  // also of elements that are infinite.
  static __device__ __forceinline__ Spread of(const Differences<X>& s, X per_element) {
    if (per_element == X(0)) return {X(0), s.squares};
    const X mean = s.first * per_element;
    return {mean, multiply_add(-mean, s.first, s.squares)};
  }
  // Whether the base was more than two standard deviations off, so that the difference has lost bits that matter; or so
  // far that squares overflow, which those of distances from the mean may not.
  __device__ __forceinline__ bool far(const Differences<X>& s) const {
    return mean * s.first > 4 * squares || !is_finite(squares);
  }
  __device__ __forceinline__ Statistics<X> statistics(X base, X per_element, X eps) const {
    const X variance = squares * per_element;
    const X scale = reciprocal_root((variance < X(0) ? X(0) : variance) + eps);  // a NaN stays
    return {base, -mean * scale, scale};
  }
};

// A block's part of a row: n elements, their mean as a distance from `base`, which is one of them, and the sum of
// squared differences from that mean.
struct SliceMoments {
  float n, base;
  Spread<float> spread;
};

// Of the whole row, seen from this block's base. Each lane has the moments of one block, lane l those of block l %
// cluster.
__device__ __forceinline__ Spread<float> of_cluster(const SliceMoments& mine, const SliceMoments& of_lane, int cluster,
                                                    float per_column) {
  const simt::tile<32> warp;
  const auto sum = [&](float value) {
    for (int apart = 1; apart < cluster; apart *= 2) value += warp.shfl_xor(value, apart);
    return value;
  };
  const float from_mine = of_lane.n > 0 ? of_lane.base - mine.base + of_lane.spread.mean : 0.0f;
  const float mean = sum(of_lane.n * from_mine) * per_column, apart = from_mine - mean;
  return {mean, sum(fmaf(of_lane.n * apart, apart, of_lane.spread.squares))};
}

// What dx of a row is made of: scale (g - mean_g - n mean_gn) where n is x normalised, and g = dy gamma.
template <class X> struct RowGradient {
  Statistics<X> normalised;
  X mean_g, mean_gn;
  __device__ __forceinline__ X operator()(X n, X g) const {
    return normalised.scale * multiply_add(-n, mean_gn, g - mean_g);
  }
};

// Of a row's sums, seen from `base`; of rms it is 0.
template <class X>
__device__ __forceinline__ RowGradient<X> gradient_of_sums(const GradientSums<X>& s, X base, X per_column, X eps,
                                                           bool rms) {
  const Statistics<X> n = statistics_of(base, rms ? X(0) : s.first * per_column, s.squares * per_column, eps);
  // the sum of g n, from that of g (x - base)
  const X gn = multiply_add(s.gd, n.scale, s.g * n.offset);
  return {n, rms ? X(0) : s.g * per_column, gn * per_column};
}
// Whether the base was more than two standard deviations off, as Spread::far().
__device__ __forceinline__ bool far_from_base(const GradientSums<float>& s, float per_column) {
  const float of_mean = s.first * per_column * s.first;
  return of_mean > 4 * (s.squares - of_mean) || !is_finite(s.squares);
}

// each_x(f): f(x, exists); each(f): f(x, g, exists)
template <class Team, class X, class EachX, class Each, class EndPass>
__device__ __forceinline__ RowGradient<X> row_gradient(EachX&& each_x, Each&& each, EndPass&& end_pass, X cols, X eps,
                                                       bool rms, GradientScratch<Team, X>& scratch) {
  const X base = rms ? X(0) : mean_of<Team>(each_x, cols, scratch.mean);
  end_pass();
  GradientSums<X> s{X(0), X(0), X(0), X(0)};
  each([&](X x, X g, bool exists) { s.add(x - (exists ? base : X(0)), g); });
  s = Team::reduce(s, plus<GradientSums<X>>, scratch.sums);
  end_pass();
  return gradient_of_sums(s, base, X(1) / cols, eps, rms);
}

}  // namespace ridge::norm_detail
