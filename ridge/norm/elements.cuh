// Rows of any alignment and strides, read once, element by element, and kept in registers. A warp's lanes have elements
// side by side, so that a warp's access is whole sectors where the row's elements are.
#pragma once
#include <ridge/norm/elements.hpp>
#include <ridge/norm/streaming.cuh>

namespace ridge::norm_detail {

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Precondition: a row has at most kept(Config) elements for each lane; the grid covers rows. y and sum may be x or
// residual.
template <class Policy, class Team, class T, bool Added>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_elements(Forward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, false);
  __shared__ Scratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // all lanes of the row together
  const int cols = static_cast<int>(a.cols), first = Team::lane();
  const auto has = [&](int k) { return first + k * Team::lanes < cols; };
  const auto at = [&](int k, std::int64_t step) { return (first + k * Team::lanes) * step; };

  // ---- load: zeros for elements that the row does not have
  const T* x = a.x.row(row);
  X kept[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) kept[k] = X(x[at(k, a.x.step)]);
  if constexpr (Added) {
    const T* residual = a.residual.row(row);
    T* sum = a.sum.row(row);
    X other[K] = {};
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (has(k)) other[k] = X(residual[at(k, a.residual.step)]);
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (has(k)) {
        const T rounded = T(kept[k] + other[k]);
        sum[at(k, a.sum.step)] = rounded;
        kept[k] = X(rounded);
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
  T* y = a.y.row(row);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X gamma = a.gamma.data ? X(a.gamma.data[at(k, a.gamma.step)]) : X(1);
    const X beta = a.beta.data ? X(a.beta.data[at(k, a.beta.step)]) : X(0);
    y[at(k, a.y.step)] = T(normalised(kept[k], gamma, beta));
  }
}

// dx of rows, and their statistics for the kernels over columns. gamma is read twice.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_elements_gradient(Backward<T> a) {
  using X = Compute<T>;
  constexpr int K = elements_of_rows::kept(Policy::config, true);
  __shared__ GradientScratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int cols = static_cast<int>(a.cols), first = Team::lane();
  const auto has = [&](int k) { return first + k * Team::lanes < cols; };
  const auto at = [&](int k, std::int64_t step) { return (first + k * Team::lanes) * step; };
  const T *x = a.x.row(row), *dy = a.dy.row(row);

  // ---- load: zeros for elements that the row does not have
  X kept_x[K] = {}, kept_dy[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) kept_x[k] = X(x[at(k, a.x.step)]), kept_dy[k] = X(dy[at(k, a.dy.step)]);

  // ---- compute
  const auto gamma = [&](int k) { return a.gamma.data && has(k) ? X(a.gamma.data[at(k, a.gamma.step)]) : X(1); };
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
  const T* dsum = a.dsum.data ? a.dsum.row(row) : nullptr;
  T* dx = a.dx.row(row);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (!has(k)) continue;
    const X d = gradient(gradient.normalised(kept_x[k]), kept_dy[k] * gamma(k));
    dx[at(k, a.dx.step)] = T(dsum ? d + X(dsum[at(k, a.dsum.step)]) : d);
  }
  if (first == 0 && a.statistics) {
    X* to = a.statistics + row * statistics_size;
    to[0] = gradient.normalised.base;
    to[1] = gradient.normalised.offset;
    to[2] = gradient.normalised.scale;
  }
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
