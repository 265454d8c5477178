// Evenly spaced rows of any alignment, read once, element by element, and kept in registers. A warp's lanes have
// elements side by side, so that a warp's access is whole sectors.
#pragma once
#include <ridge/norm/aligned.cuh>
#include <ridge/norm/elements.hpp>

namespace ridge::norm_detail {

// A row of these kernels.                      x, y, dy, dsum, gamma, beta: [cols]; all but x and y may be null
template <class T> struct ElementsRow {
  const T* x;
  T* y;  // or dx
  const T *gamma, *beta, *dy, *dsum;
  int cols;
  Compute<T> eps;
  bool rms;
  Compute<T>* statistics;  // [statistics_size], or null

  // Calls f(i) for each of a lane's elements.
  template <class Team, class F> __device__ __forceinline__ void for_each(F&& f) const {
#pragma unroll 1
    for (int i = Team::lane(); i < cols; i += Team::lanes) f(i);
  }
  __device__ __forceinline__ Compute<T> g(int i) const {
    return Compute<T>(dy[i]) * (gamma ? Compute<T>(gamma[i]) : Compute<T>(1));
  }
};

// y of a row whose mean is far from 0, or whose squares leave the type's range, in passes over memory. A function, as
// it is rare: inlined, it would cost the kernels registers, and few rows the time in which its code is loaded.
// Precondition: all of the row's lanes call; x may be what a lane has written itself.
template <class Team, class T>
[[gnu::noinline]] static __device__ void norm_elements_rarely(ElementsRow<T> r, Scratch<Team, Compute<T>>& scratch) {
  using X = Compute<T>;
  const auto each = [&](auto&& f) { r.template for_each<Team>([&](int i) { f(X(r.x[i]), true); }); };
  const Statistics<X> normalised = row_statistics<Team, X>(
      each, [] {}, X(r.cols), r.eps, r.rms, scratch);
  r.template for_each<Team>(
      [&](int i) { r.y[i] = T(normalised(X(r.x[i]), r.gamma ? X(r.gamma[i]) : X(1), r.beta ? X(r.beta[i]) : X(0))); });
}
// dx of such a row.
template <class Team, class T>
[[gnu::noinline]] static __device__ void gradient_elements_rarely(ElementsRow<T> r,
                                                                  GradientScratch<Team, Compute<T>>& scratch) {
  using X = Compute<T>;
  const auto each_x = [&](auto&& f) { r.template for_each<Team>([&](int i) { f(X(r.x[i]), true); }); };
  const auto each = [&](auto&& f) { r.template for_each<Team>([&](int i) { f(X(r.x[i]), r.g(i), true); }); };
  const auto gradient = row_gradient<Team, X>(
      each_x, each, [] {}, X(r.cols), r.eps, r.rms, scratch);
  r.template for_each<Team>([&](int i) {
    const X d = gradient(gradient.normalised(X(r.x[i])), r.g(i));
    r.y[i] = T(r.dsum ? d + X(r.dsum[i]) : d);
  });
  if (Team::lane() == 0) store_statistics(r.statistics, 0, gradient.normalised);
}

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Preconditions: rows are contiguous and evenly spaced, and so are gamma and beta; a row has at most kept(Config)
// elements for each lane; the grid covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_elements(AlignedForward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, false, sizeof(X) == 8), step = Team::lanes;
  __shared__ Scratch<Team, X> scratch;
  __shared__ typename Team::template Scratch<Differences<X>> scratch_once;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // all lanes of the row together
  const int first = Team::lane(), left = a.cols - first;
  const auto has = [&](int k) { return k * step < left; };

  const T* x = a.x.row(row) + first;
  if constexpr (Policy::config.dependent_launch) {
    begin_early([&] {
      tile::prefetch_lines_l2<step>(x - first, a.cols, first);
      if (Added) tile::prefetch_lines_l2<step>(a.residual.row(row), a.cols, first);
      if (row == 0 && a.gamma) tile::prefetch_lines_l2<step>(a.gamma, a.cols, first);
      if (row == 0 && a.beta) tile::prefetch_lines_l2<step>(a.beta, a.cols, first);
    });
  }

  // ---- load: zeros for elements that the row does not have
  T loaded[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) loaded[k] = x[k * step];
  X kept[K];
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = X(loaded[k]);
  if constexpr (Added) {
    const T* residual = a.residual.row(row) + first;
    T* sum = a.sum.row(row) + first;
    constexpr int batch = K < 16 ? K : K / 2;  // elements of residual in flight: more would spill registers
#pragma unroll
    for (int k0 = 0; k0 < K; k0 += batch) {
      T other[batch] = {};
#pragma unroll
      for (int i = 0; i < batch; ++i)
        if (has(k0 + i)) other[i] = residual[(k0 + i) * step];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int k = k0 + i;
        const T rounded = T(kept[k] + X(other[i]));
        kept[k] = X(rounded);
        if (has(k)) sum[k * step] = rounded;
      }
    }
  }
  // gamma and beta are on their way while the row is summed, as far as there are registers for them.
  const auto parameter = [&](const T* of, float absent) {
    const T* from = of ? of + first : nullptr;
    return [=](int k) { return from && has(k) ? from[k * step] : T(absent); };
  };
  const auto gamma = parameter(a.gamma, 1), beta = parameter(a.beta, 0);
  constexpr int early_gamma = elements_of_rows::early(K, 1, sizeof(X)),
                early_beta = elements_of_rows::early(K, 2, sizeof(X));
  T of_gamma[K] = {}, of_beta[K] = {};
#pragma unroll
  for (int k = 0; k < early_gamma; ++k) of_gamma[k] = gamma(k);
#pragma unroll
  for (int k = 0; k < early_beta; ++k) of_beta[k] = beta(k);

  // ---- compute
  // Distances from 0, which lose bits only if the row's mean is far from 0.
  const X per_column = X(1) / X(a.cols);
  Differences<X> s{X(0), X(0)};
#pragma unroll
  for (int k = 0; k < K; ++k) s.add(kept[k]);
  s = Team::reduce(s, plus<Differences<X>>, scratch_once);
  const Spread<X> spread = Spread<X>::of(s, a.rms ? X(0) : per_column);
  const Statistics<X> normalised = spread.statistics(X(0), per_column, a.eps);
  if (in_any_row<Team>(spread.far(s) || !is_ordinary(spread.divisor(per_column, a.eps))))
    return norm_elements_rarely<Team, T>({.x = Added ? a.sum.row(row) : a.x.row(row),
                                          .y = a.y.row(row),
                                          .gamma = a.gamma,
                                          .beta = a.beta,
                                          .dy = nullptr,
                                          .dsum = nullptr,
                                          .cols = a.cols,
                                          .eps = a.eps,
                                          .rms = a.rms,
                                          .statistics = nullptr},
                                         scratch);

  // ---- finish
  T* y = a.y.row(row) + first;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X scaled_by = X(k < early_gamma ? of_gamma[k] : gamma(k)),
            moved_by = X(k < early_beta ? of_beta[k] : beta(k));
    y[k * step] = T(normalised(kept[k], scaled_by, moved_by));
  }
}

// dx of rows, and their statistics for the kernels over columns.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm)
    norm_elements_gradient(AlignedBackward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, true, sizeof(X) == 8), step = Team::lanes;
  __shared__ GradientScratch<Team, X> scratch;
  __shared__ typename Team::template Scratch<GradientSums<X>> scratch_once;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int first = Team::lane(), left = a.cols - first;
  const auto has = [&](int k) { return k * step < left; };

  const T *x = a.x.row(row) + first, *dy = a.dy.row(row) + first, *gamma = a.gamma ? a.gamma + first : nullptr;
  if constexpr (Policy::config.dependent_launch) {
    begin_early([&] {
      tile::prefetch_lines_l2<step>(x - first, a.cols, first);
      tile::prefetch_lines_l2<step>(dy - first, a.cols, first);
      if (row == 0 && gamma) tile::prefetch_lines_l2<step>(a.gamma, a.cols, first);
    });
  }

  // ---- load: zeros for elements that the row does not have
  T of_x[K] = {}, of_dy[K] = {}, of_gamma[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) of_x[k] = x[k * step], of_dy[k] = dy[k * step];
#pragma unroll
  for (int k = 0; k < K; ++k) of_gamma[k] = gamma && has(k) ? gamma[k * step] : T(1.0f);
  X kept[K], g[K];  // x; dy gamma
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = X(of_x[k]), g[k] = X(of_dy[k]) * X(of_gamma[k]);

  // ---- compute
  // Distances from 0, as above.
  const X per_column = X(1) / X(a.cols);
  GradientSums<X> s{X(0), X(0), X(0), X(0)};
#pragma unroll
  for (int k = 0; k < K; ++k) s.add(kept[k], g[k]);
  s = Team::reduce(s, plus<GradientSums<X>>, scratch_once);
  const RowGradient<X> gradient = gradient_of_sums(s, X(0), per_column, a.eps, a.rms);
  const bool far = !a.rms && far_from_base(s, per_column);
  if (in_any_row<Team>(far || !is_ordinary(multiply_add(s.squares, per_column, a.eps))))
    return gradient_elements_rarely<Team, T>(
        {.x = a.x.row(row),
         .y = a.dx.row(row),
         .gamma = a.gamma,
         .beta = nullptr,
         .dy = a.dy.row(row),
         .dsum = a.dsum.data ? a.dsum.row(row) : nullptr,
         .cols = a.cols,
         .eps = a.eps,
         .rms = a.rms,
         .statistics = a.statistics ? a.statistics + row * statistics_size : nullptr},
        scratch);

  // ---- finish
  const T* dsum = a.dsum.data ? a.dsum.row(row) + first : nullptr;
  T* dx = a.dx.row(row) + first;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X d = gradient(gradient.normalised(kept[k]), g[k]);
    dx[k * step] = T(dsum ? d + X(dsum[k * step]) : d);
  }
  if (first == 0) store_statistics(a.statistics, row, gradient.normalised);
}

namespace elements_of_rows {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const auto start = [&](auto kernel, const auto& arguments) {
    const simt::Config at = launch_config(call, Warp);
    if constexpr (Policy::config.dependent_launch)
      return tile::launch_dependent(call.plan.device.cc, at, kernel, arguments);
    else return simt::launch(at, kernel, arguments);
  };
  if (p.backward) return start(norm_elements_gradient<Policy, Team, T>, aligned(backward_of<T>(call)));
  const AlignedForward<T> a = aligned(forward_of<T>(call));
  return p.added ? start(norm_elements<Policy, Team, T, true>, a) : start(norm_elements<Policy, Team, T, false>, a);
}

}  // namespace elements_of_rows
}  // namespace ridge::norm_detail
