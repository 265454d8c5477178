// Contiguous rows of any alignment, read once, element by element, and kept in registers. A warp's lanes have elements
// side by side, so that a warp's access is whole sectors.
#pragma once
#include <ridge/norm/elements.hpp>
#include <ridge/norm/streaming.cuh>

namespace ridge::norm_detail {

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Preconditions: rows are contiguous and evenly spaced, and so are gamma and beta; a row has at most kept(Config)
// elements for each lane; the grid covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_elements(Forward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, false, sizeof(X) == 8), step = Team::lanes;
  __shared__ Scratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // all lanes of the row together
  const int first = Team::lane(), left = static_cast<int>(a.cols) - first;
  const auto has = [&](int k) { return k * step < left; };

  // ---- load: zeros for elements that the row does not have
  const T* x = a.x.strided_row(row) + first;
  T loaded[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) loaded[k] = x[k * step];
  X kept[K];
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = X(loaded[k]);
  if constexpr (Added) {
    const T* residual = a.residual.strided_row(row) + first;
    T* sum = a.sum.strided_row(row) + first;
    T other[K] = {};
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (has(k)) other[k] = residual[k * step];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T rounded = T(kept[k] + X(other[k]));
      kept[k] = X(rounded);
      if (has(k)) sum[k * step] = rounded;
    }
  }

  // ---- compute
  const auto each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) f(kept[k], has(k));
  };
  const Statistics<X> normalised = row_statistics<Team, X>(
      each, [] {}, X(a.cols), a.eps, a.rms, scratch);

  // ---- finish
  T* y = a.y.strided_row(row) + first;
  const T *gamma = a.gamma.data ? a.gamma.data + first : nullptr, *beta = a.beta.data ? a.beta.data + first : nullptr;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X of_gamma = gamma ? X(gamma[k * step]) : X(1), of_beta = beta ? X(beta[k * step]) : X(0);
    y[k * step] = T(normalised(kept[k], of_gamma, of_beta));
  }
}

// dx of rows, and their statistics for the kernels over columns. gamma is read twice.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_elements_gradient(Backward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, true, sizeof(X) == 8), step = Team::lanes;
  __shared__ GradientScratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int first = Team::lane(), left = static_cast<int>(a.cols) - first;
  const auto has = [&](int k) { return k * step < left; };

  // ---- load: zeros for elements that the row does not have
  const T *x = a.x.strided_row(row) + first, *dy = a.dy.strided_row(row) + first;
  X kept_x[K] = {}, kept_dy[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) kept_x[k] = X(x[k * step]), kept_dy[k] = X(dy[k * step]);

  // ---- compute
  const T* of_gamma = a.gamma.data ? a.gamma.data + first : nullptr;
  const auto gamma = [&](int k) { return of_gamma && has(k) ? X(of_gamma[k * step]) : X(1); };
  const auto each_x = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) f(kept_x[k], has(k));
  };
  const auto each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) f(kept_x[k], kept_dy[k] * gamma(k), has(k));
  };
  const auto gradient = row_gradient<Team, X>(
      each_x, each, [] {}, X(a.cols), a.eps, a.rms, scratch);

  // ---- finish
  const T* dsum = a.dsum.data ? a.dsum.strided_row(row) + first : nullptr;
  T* dx = a.dx.strided_row(row) + first;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X d = gradient(gradient.normalised(kept_x[k]), kept_dy[k] * gamma(k));
    dx[k * step] = T(dsum ? d + X(dsum[k * step]) : d);
  }
  if (first == 0) store_statistics(a.statistics, row, gradient.normalised);
}

namespace elements_of_rows {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  if (p.backward) return simt::launch(at, norm_elements_gradient<Policy, Team, T>, backward_of<T>(call));
  if (p.added) return simt::launch(at, norm_elements<Policy, Team, T, true>, forward_of<T>(call));
  return simt::launch(at, norm_elements<Policy, Team, T, false>, forward_of<T>(call));
}

}  // namespace elements_of_rows
}  // namespace ridge::norm_detail
