// A row's mean and variance, and the sums that its gradient needs.
//
// The first pass takes the mean, the second one differences from it; the sum of the differences is the mean's own
// rounding error. If the row is in registers, one pass takes distances from the row's first element, their sum and the
// sum of their squares (Spread); a second pass takes differences from the mean only if the first element was far from
// it. No pass squares or subtracts numbers of the mean's size, except in short.cuh, even.cuh and elements.cuh: these
// take distances from 0, and other ones only for rows whose mean is more than two standard deviations from 0.
//
// Kernels pass each(f), which calls f(x, exists) for every element of the row that this lane has: from registers,
// shared memory or memory. It may pass elements that do not exist, as zeros: a branch around them would cost more.
// end_pass() is called between passes (tile/row_vectors.cuh).
#pragma once
#include <ridge/norm/arguments.cuh>
#include <ridge/norm/sums.hpp>
#include <ridge/tile/multiply_add.cuh>
#include <ridge/tile/row_lanes.cuh>

#include <limits>

namespace ridge::norm_detail {

using tile::multiply_add;

__device__ __forceinline__ float reciprocal_root(float x) { return rsqrtf(x); }
__device__ __forceinline__ double reciprocal_root(double x) { return ::rsqrt(x); }
__device__ __forceinline__ bool is_finite(float x) { return fabsf(x) <= std::numeric_limits<float>::max(); }
__device__ __forceinline__ bool is_finite(double x) { return fabs(x) <= std::numeric_limits<double>::max(); }

template <class X> struct Statistics {
  X base, offset, scale;  // x normalised is (x - base) * scale + offset
  __device__ __forceinline__ X operator()(X x) const { return multiply_add(x - base, scale, offset); }
  __device__ __forceinline__ X operator()(X x, X gamma, X beta) const { return multiply_add((*this)(x), gamma, beta); }
};

// A row's statistics on their way to the kernels over columns (sums.cuh), which read them. of_rows: [rows,
// statistics_size]; null: they are not wanted.
template <class X>
__device__ __forceinline__ void store_statistics(X* of_rows, std::int64_t row, const Statistics<X>& statistics) {
  if (!of_rows) return;
  X* to = of_rows + row * statistics_size;
  to[0] = statistics.base, to[1] = statistics.offset, to[2] = statistics.scale;
}
template <class X> __device__ __forceinline__ Statistics<X> load_statistics(const X* of_rows, std::int64_t row) {
  const X* from = of_rows + row * statistics_size;
  return {from[0], from[1], from[2]};
}

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
  X first, squares, g, gd;  // the same sums, and those of g = dy gamma and of g (x - base)
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

// ---- rows whose squares leave the type's range

// Whether a row's divisor, the mean of squares plus eps, is neither infinite nor NaN, and its squares have not
// underflowed. If not, wide_statistics() computes the row's statistics again.
template <class X> __device__ __forceinline__ bool is_ordinary(X divisor) {
  constexpr X least = sizeof(X) == 8 ? X(0x1p-900) : X(0x1p-100);
  return divisor >= least && divisor <= std::numeric_limits<X>::max();
}
// Whether `found` holds in any row of the warp, if a row has only a part of the warp: all lanes must join reductions.
template <class Team> __device__ __forceinline__ bool in_any_row(bool found) {
  if constexpr (requires { Team::lanes; })
    if constexpr (Team::lanes > 1 && Team::lanes < Team::warp) return simt::tiles<Team::warp>().any(found);
  return found;
}

template <class Team> struct WideScratch { typename Team::template Scratch<double> mean, squares; };

// The factor of the elements if a row's divisor is not ordinary: float64 holds the squares of every float; elements of
// float64 itself are multiplied by a power of two.
template <class X> __device__ __forceinline__ double wide_factor(X divisor) {
  if constexpr (sizeof(X) == 4) return 1;
  else return divisor < X(1) ? 0x1p768 : 0x1p-768;
}
// Statistics from the mean and the sum of squared differences of x times the factor.
template <class X>
__device__ __forceinline__ Statistics<X> statistics_of_wide(double mean, double squares, double cols, X eps,
                                                            double factor) {
  // The divisor of a constant row is eps alone, which the factor may have taken to 0.
  const double inner = squares / cols + double(eps) * factor * factor;
  const double scale = inner == 0 ? ::rsqrt(double(eps)) / factor : ::rsqrt(inner);  // of x times the factor
  // If x - mean might leave the type's range, the base is 0: the mean is then at most 2 sqrt(cols) standard deviations
  // from 0.
  const double half = 0.5 * double(std::numeric_limits<X>::max()) * factor;
  const X base = squares < half * half ? X(mean / factor) : X(0);
  return {base, X((double(base) * factor - mean) * scale), X(scale * factor)};
}

// The mean of x times a factor, and the sum of squared differences from it, in float64. each(f): f(x, exists)
struct WideMoments {
  double mean, squares;

  template <class Team, class Each, class EndPass>
  static __device__ __forceinline__ WideMoments of(Each&& each, EndPass&& end_pass, double cols, double factor,
                                                   bool rms, WideScratch<Team>& scratch) {
    const auto sum_of = [](double a, double b) { return a + b; };
    WideMoments m{0, 0};
    if (!rms) {
      each([&](auto x, bool exists) { m.mean = ::fma(exists ? double(x) : 0.0, factor, m.mean); });
      end_pass();
      m.mean = Team::reduce(m.mean, sum_of, scratch.mean) / cols;
    }
    each([&](auto x, bool exists) {
      const double d = exists ? ::fma(double(x), factor, -m.mean) : 0.0;
      m.squares = ::fma(d, d, m.squares);
    });
    end_pass();
    m.squares = Team::reduce(m.squares, sum_of, scratch.squares);
    return m;
  }
};

// Statistics of a row whose divisor is_ordinary() refused.
template <class Team, class X, class Each, class EndPass>
__device__ __forceinline__ Statistics<X> wide_statistics(Each&& each, EndPass&& end_pass, X cols, X eps, bool rms,
                                                         X divisor, WideScratch<Team>& scratch) {
  const double factor = wide_factor(divisor);
  const auto m = WideMoments::of<Team>(each, end_pass, double(cols), factor, rms, scratch);
  return statistics_of_wide<X>(m.mean, m.squares, double(cols), eps, factor);
}

// Shared memory of a row's reductions.
template <class Team, class X> struct Scratch {
  typename Team::template Scratch<X> mean;
  typename Team::template Scratch<Differences<X>> differences;
  WideScratch<Team> wide;
};
template <class Team, class X> struct SumsScratch {
  typename Team::template Scratch<X> mean;
  typename Team::template Scratch<GradientSums<X>> sums;
};
template <class Team, class X> struct GradientScratch : SumsScratch<Team, X> {
  WideScratch<Team> wide;
  typename Team::template Scratch<GradientSums<X>> of_normalised;
};

// How a kernel takes a row's statistics: in the type that it computes in, as below. The alternative: two_float.cuh.
struct PlainSums {
  static constexpr bool plain = true;
  template <class Team, class X> using Scratch = norm_detail::Scratch<Team, X>;
};

// Infinite where the sum leaves X's range: differences from it then are, and is_ordinary() refuses the row. Terms times
// a small power of two would leave that range at its other end.
template <class Team, class X, class S, class Each>
__device__ __forceinline__ X mean_of(Each&& each, X cols, S& scratch) {
  X sum = 0;
  each([&](X x, bool) { sum += x; });
  return Team::reduce(sum, plus<X>, scratch) / cols;
}

template <class Team, class X, class Each, class EndPass>
__device__ __forceinline__ Statistics<X> row_statistics(Each&& each, EndPass&& end_pass, X cols, X eps, bool rms,
                                                        Scratch<Team, X>& scratch) {
  const X base = rms ? X(0) : mean_of<Team>(each, cols, scratch.mean);
  end_pass();
  Differences<X> s{X(0), X(0)};
  each([&](X x, bool exists) { s.add(x - (exists ? base : X(0))); });
  s = Team::reduce(s, plus<Differences<X>>, scratch.differences);
  end_pass();
  const X divisor = s.squares / cols + eps;
  if (in_any_row<Team>(!is_ordinary(divisor)))
    return wide_statistics<Team, X>(each, end_pass, cols, eps, rms, divisor, scratch.wide);
  return statistics_of(base, rms ? X(0) : s.first / cols, s.squares / cols, eps);
}

// The mean of distances from a base, and the sum of squared differences from that mean.
template <class X> struct Spread {
  X mean, squares;
  // per_element: 1 over the number of elements; 0 leaves the base itself as the mean, even if elements are infinite.
  static __device__ __forceinline__ Spread of(const Differences<X>& s, X per_element) {
    if (per_element == X(0)) return {X(0), s.squares};
    const X mean = s.first * per_element;
    return {mean, multiply_add(-mean, s.first, s.squares)};
  }
  // Whether the base was more than two standard deviations from the mean, so that the difference has lost bits that
  // matter; or so far that the squares overflow, which squares of distances from the mean may not; or so near that they
  // underflow, and do not show it.
  __device__ __forceinline__ bool far(const Differences<X>& s) const {
    constexpr X least = sizeof(X) == 8 ? X(0x1p-900) : X(0x1p-100);
    return mean * s.first > 4 * squares || !is_finite(squares) || (squares < least && mean != X(0));
  }
  // per_element: 1 over the number of elements, as in statistics().
  __device__ __forceinline__ X divisor(X per_element, X eps) const { return multiply_add(squares, per_element, eps); }
  __device__ __forceinline__ Statistics<X> statistics(X base, X per_element, X eps) const {
    const X variance = squares * per_element;
    const X scale = reciprocal_root((variance < X(0) ? X(0) : variance) + eps);  // a NaN stays
    return {base, -mean * scale, scale};
  }
};

// Moments of a block's part of a row: n elements, their mean as a distance from `base`, and the sum of squared
// differences from that mean. If the sum leaves float32's range, minus the root of the squares' mean in its place.
struct SliceMoments {
  float n, base;
  Spread<float> spread;

  __device__ __forceinline__ bool wide() const { return spread.squares < 0; }
  // The mean of x and the sum of squared differences, in float64.
  __device__ __forceinline__ WideMoments upcast() const {
    if (!(n > 0)) return {0, 0};
    const double squares = spread.squares;
    return {double(base) + double(spread.mean), wide() ? n * squares * squares : squares};
  }
};

// The spread of the whole row, relative to this block's base. Lane l has the moments of block l % cluster.
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

// The same in float64, if the squares leave float32's range. A function, as it is rare.
[[gnu::noinline]] static __device__ Statistics<float> wide_statistics_of_cluster(SliceMoments of_lane, int cluster,
                                                                                 double cols, float eps) {
  const simt::tile<32> warp;
  const auto sum = [&](double value) {
    for (int apart = 1; apart < cluster; apart *= 2) value += warp.shfl_xor(value, apart);
    return value;
  };
  const WideMoments part = of_lane.upcast();
  const double mean = sum(of_lane.n * part.mean) / cols, apart = part.mean - mean;
  return statistics_of_wide<float>(mean, sum(::fma(of_lane.n * apart, apart, part.squares)), cols, eps, 1);
}

__device__ __forceinline__ Statistics<float> statistics_of_cluster(const SliceMoments& mine,
                                                                   const SliceMoments& of_lane, int cluster,
                                                                   std::int64_t cols, float per_column, float eps) {
  const Spread<float> spread = of_cluster(mine, of_lane, cluster, per_column);
  if (simt::tile<32>().any(of_lane.wide()) || !is_ordinary(spread.divisor(per_column, eps)))
    return wide_statistics_of_cluster(of_lane, cluster, static_cast<double>(cols), eps);
  return spread.statistics(mine.base, per_column, eps);
}

// dx of a row's elements: scale (g - mean_g - n mean_gn), where n is x normalised and g = dy gamma.
template <class X> struct RowGradient {
  Statistics<X> normalised;
  X mean_g, mean_gn;
  __device__ __forceinline__ X operator()(X n, X g) const {
    return normalised.scale * multiply_add(-n, mean_gn, g - mean_g);
  }
};

// The gradient from a row's sums relative to `base`, which is 0 for rms.
template <class X>
__device__ __forceinline__ RowGradient<X> gradient_of_sums(const GradientSums<X>& s, X base, X per_column, X eps,
                                                           bool rms) {
  const Statistics<X> n = statistics_of(base, rms ? X(0) : s.first * per_column, s.squares * per_column, eps);
  // the sum of g n, from that of g (x - base)
  const X gn = multiply_add(s.gd, n.scale, s.g * n.offset);
  return {n, rms ? X(0) : s.g * per_column, gn * per_column};
}
// Whether the base was more than two standard deviations from the mean, as Spread::far().
template <class X> __device__ __forceinline__ bool far_from_base(const GradientSums<X>& s, X per_column) {
  const X of_mean = s.first * per_column * s.first;
  return of_mean > 4 * (s.squares - of_mean) || !is_finite(s.squares);
}

// The gradient of a row that is_ordinary() refused: it sums g and g n once n is known. each(f): f(x, g, exists)
template <class Team, class X, class Each, class EndPass, class S>
__device__ __forceinline__ RowGradient<X> wide_gradient(Each&& each, EndPass&& end_pass, X cols, X eps, bool rms,
                                                        X divisor, WideScratch<Team>& scratch, S& scratch_sums) {
  const auto each_x = [&](auto&& f) { each([&](X x, X, bool exists) { f(x, exists); }); };
  const Statistics<X> normalised = wide_statistics<Team, X>(each_x, end_pass, cols, eps, rms, divisor, scratch);
  GradientSums<X> s{X(0), X(0), X(0), X(0)};
  each([&](X x, X g, bool exists) {
    if (!exists) return;
    s.g += g;
    s.gd = multiply_add(g, normalised(x), s.gd);
  });
  s = Team::reduce(s, plus<GradientSums<X>>, scratch_sums);
  end_pass();
  return {normalised, rms ? X(0) : s.g / cols, s.gd / cols};
}

// each_x(f): f(x, exists); each(f): f(x, g, exists); wide(divisor): the gradient of a row that is_ordinary() refuses
template <class Team, class X, class EachX, class Each, class EndPass, class Wide>
__device__ __forceinline__ RowGradient<X> row_gradient(EachX&& each_x, Each&& each, EndPass&& end_pass, X cols, X eps,
                                                       bool rms, SumsScratch<Team, X>& scratch, Wide&& wide) {
  const X base = rms ? X(0) : mean_of<Team>(each_x, cols, scratch.mean);
  end_pass();
  GradientSums<X> s{X(0), X(0), X(0), X(0)};
  each([&](X x, X g, bool exists) { s.add(x - (exists ? base : X(0)), g); });
  s = Team::reduce(s, plus<GradientSums<X>>, scratch.sums);
  end_pass();
  const X divisor = s.squares / cols + eps;
  if (in_any_row<Team>(!is_ordinary(divisor))) return wide(divisor);
  return gradient_of_sums(s, base, X(1) / cols, eps, rms);
}
template <class Team, class X, class EachX, class Each, class EndPass>
__device__ __forceinline__ RowGradient<X> row_gradient(EachX&& each_x, Each&& each, EndPass&& end_pass, X cols, X eps,
                                                       bool rms, GradientScratch<Team, X>& scratch) {
  SumsScratch<Team, X>& of_sums = scratch;
  return row_gradient<Team, X>(each_x, each, end_pass, cols, eps, rms, of_sums, [&](X divisor) {
    return wide_gradient<Team, X>(each, end_pass, cols, eps, rms, divisor, scratch.wide, scratch.of_normalised);
  });
}

// The lanes of a tile that take a row's statistics by themselves, from memory. No other lane waits for them, so that
// the rare case takes no part in the kernel's own reductions. It is a function, whose code few launches load.
template <int Size> struct LanesAlone {
  template <class V> struct Scratch {};
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, Scratch<V>&) {
    return simt::tile<Size>().reduce(value, f);
  }
};

// The lanes of a Team that can do so: its warps each have the whole row.
template <class Team> inline constexpr int lanes_alone = Team::lanes < Team::warp ? Team::lanes : Team::warp;

// Calls f(x, exists) for each of a lane's elements. x, residual: [cols]; if residual is not null, it is added to x and
// the sum rounded as it is stored.
template <int Size, class T>
static __device__ __forceinline__ auto each_of_lanes(const T* x, const T* residual, std::int64_t cols) {
  return [=](auto&& f) {
#pragma unroll 1
    for (std::int64_t i = simt::tile<Size>().rank(); i < cols; i += Size)
      f(residual ? float(T(float(x[i]) + float(residual[i]))) : float(x[i]), true);
  };
}
// Precondition: nothing is written to x or residual meanwhile.
template <int Size, class T>
[[gnu::noinline]] static __device__ Statistics<float> wide_statistics_alone(const T* x, const T* residual,
                                                                            std::int64_t cols, float eps, bool rms) {
  WideScratch<LanesAlone<Size>> none;
  return wide_statistics<LanesAlone<Size>, float>(
      each_of_lanes<Size>(x, residual, cols), [] {}, static_cast<float>(cols), eps, rms, 1.0f, none);
}
// Moments of a block's part of a row whose squares leave float32's range. x: [n]; residual as above.
template <int Size, class T>
[[gnu::noinline]] static __device__ SliceMoments wide_slice_alone(const T* x, const T* residual, int n, bool rms) {
  if (n == 0) return {0, 0, {0, 0}};
  WideScratch<LanesAlone<Size>> none;
  const auto m = WideMoments::of<LanesAlone<Size>>(
      each_of_lanes<Size>(x, residual, n), [] {}, static_cast<double>(n), 1, rms, none);
  const float base = static_cast<float>(m.mean);
  return {static_cast<float>(n),
          base,
          {static_cast<float>(m.mean - base), static_cast<float>(-::sqrt(m.squares / static_cast<double>(n)))}};
}
// x, dy, gamma: [cols]; gamma may be null
template <int Size, class T>
[[gnu::noinline]] static __device__ RowGradient<float> wide_gradient_alone(const T* x, const T* dy, const T* gamma,
                                                                           std::int64_t cols, float eps, bool rms) {
  const auto each = [&](auto&& f) {
#pragma unroll 1
    for (std::int64_t i = simt::tile<Size>().rank(); i < cols; i += Size)
      f(float(x[i]), float(dy[i]) * (gamma ? float(gamma[i]) : 1.0f), true);
  };
  WideScratch<LanesAlone<Size>> none;
  typename LanesAlone<Size>::template Scratch<GradientSums<float>> no_sums;
  return wide_gradient<LanesAlone<Size>, float>(
      each, [] {}, static_cast<float>(cols), eps, rms, 1.0f, none, no_sums);
}

}  // namespace ridge::norm_detail
