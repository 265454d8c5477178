// Rows are read again for every pass, element by element: the textbook's steps, any strides, and rows of f64.
#pragma once
#include <ridge/norm/launch.cuh>
#include <ridge/norm/statistics.cuh>

namespace ridge::norm_detail {

// a + b, rounded as it is stored.
template <class T> __device__ __forceinline__ T rounded_sum(T a, T b) { return T(Compute<T>(a) + Compute<T>(b)); }

// Team: the lanes of a row, one thread or a block. Sums: how the row's statistics are taken.
// Precondition: gridDim.x * Team::rows covers rows. y and sum may be x or residual: a thread reads only what it writes
// itself.
template <class Team, class T, class Sums>
__global__ void __launch_bounds__(Team::threads) norm_streaming(Forward<T> a, Sums sums) {
  using X = Compute<T>;
  __shared__ typename Sums::template Scratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int lane = Team::lane();
  const T* x = a.x.row(row);
  std::int64_t step = a.x.step;
  T* y = a.y.row(row);
  if (a.sum.data) {
    const T* residual = a.residual.row(row);
    T* sum = a.sum.row(row);
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes)
      sum[i * a.sum.step] = rounded_sum(x[i * step], residual[i * a.residual.step]);
    x = sum;
    step = a.sum.step;
  }
  const auto each = [&](auto&& f) {
#pragma unroll 4
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes) f(X(x[i * step]), true);
  };
  const auto normalised = [&] {
    const auto end_pass = [] {};
    if constexpr (Sums::plain) return row_statistics<Team, X>(each, end_pass, X(a.cols), a.eps, a.rms, scratch);
    else return sums.template statistics<Team>(each, end_pass, scratch);
  }();
  for (std::int64_t i = lane; i < a.cols; i += Team::lanes) {
    const X gamma = a.gamma.data ? X(a.gamma.data[i * a.gamma.step]) : X(1);
    const X beta = a.beta.data ? X(a.beta.data[i * a.beta.step]) : X(0);
    y[i * a.y.step] = T(normalised(X(x[i * step]), gamma, beta));
  }
}

// The same for dx; it also writes the row's statistics for the kernels over columns.
template <class Team, class T> __global__ void __launch_bounds__(Team::threads) norm_streaming_gradient(Backward<T> a) {
  using X = Compute<T>;
  __shared__ GradientScratch<Team, X> scratch;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;
  const int lane = Team::lane();
  const T *x = a.x.row(row), *dy = a.dy.row(row);
  const T* dsum = a.dsum.data ? a.dsum.row(row) : nullptr;
  T* dx = a.dx.row(row);
  const auto g = [&](std::int64_t i) {
    return X(dy[i * a.dy.step]) * (a.gamma.data ? X(a.gamma.data[i * a.gamma.step]) : X(1));
  };
  const auto each_x = [&](auto&& f) {
#pragma unroll 4
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes) f(X(x[i * a.x.step]), true);
  };
  const auto each = [&](auto&& f) {
#pragma unroll 4
    for (std::int64_t i = lane; i < a.cols; i += Team::lanes) f(X(x[i * a.x.step]), g(i), true);
  };
  const auto gradient = row_gradient<Team, X>(
      each_x, each, [] {}, static_cast<X>(a.cols), a.eps, a.rms, scratch);
  for (std::int64_t i = lane; i < a.cols; i += Team::lanes) {
    const X d = gradient(gradient.normalised(X(x[i * a.x.step])), g(i));
    dx[i * a.dx.step] = T(dsum ? d + X(dsum[i * a.dsum.step]) : d);
  }
  if (lane == 0) store_statistics(a.statistics, row, gradient.normalised);
}

namespace streaming {

template <class Policy, class T, int Warp, class Sums> static Status launch_forward(const Call& call, Sums sums) {
  return simt::launch(launch_config(call, Warp), norm_streaming<TeamOf<Policy, Warp>, T, Sums>, forward_of<T>(call),
                      sums);
}

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  if (!call.plan.problem.backward) return launch_forward<Policy, T, Warp>(call, PlainSums{});
  return simt::launch(launch_config(call, Warp), norm_streaming_gradient<TeamOf<Policy, Warp>, T>,
                      backward_of<T>(call));
}

}  // namespace streaming
}  // namespace ridge::norm_detail
