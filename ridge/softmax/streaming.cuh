// Rows that are read two or three times, element by element: the textbook's steps, and any strides.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/row_lanes.cuh>

namespace ridge::softmax_detail {

// One thread per row; neighbouring threads read a whole pitch apart.    x: [rows, cols]  y: [rows, cols]
// Precondition: gridDim.x * threads covers rows. y may be x.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_naive(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                  bool log) {
  using X = Compute<T>;
  const std::int64_t row = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (row >= rows) return;
  x += row * pitch_x;
  y += row * pitch_y;
  X max = tile::minus_infinity<X>, sum = 0;
  for (std::int64_t i = 0; i < cols; ++i) max = tile::greater(max, X(x[i]));
  const X base = tile::softmax_base(max);
  for (std::int64_t i = 0; i < cols; ++i) sum += tile::exponential(X(x[i]) - base);
  const Normalise<X> normalise(max, sum, log);
  for (std::int64_t i = 0; i < cols; ++i) y[i] = T(normalise(X(x[i])));
}

// A block per row, three passes.                                        x: [rows, cols]  y: [rows, cols]
// Precondition: gridDim.x == rows. y may be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_three_pass(const T* x, T* y, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y, bool log) {
  using X = Compute<T>;
  using Team = tile::BlockRows<Policy::config.threads, 1, Warp>;
  __shared__ typename Team::template Scratch<X> scratch_max, scratch_sum;
  x += blockIdx.x * pitch_x;
  y += blockIdx.x * pitch_y;
  X max = tile::minus_infinity<X>, sum = 0;
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes) max = tile::greater(max, X(x[i]));
  max = Team::reduce(
      max, [](X a, X b) { return tile::greater(a, b); }, scratch_max);
  const X base = tile::softmax_base(max);
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes) sum += tile::exponential(X(x[i]) - base);
  sum = Team::reduce(
      sum, [](X a, X b) { return a + b; }, scratch_sum);
  const Normalise<X> normalise(max, sum, log);
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes) y[i] = T(normalise(X(x[i])));
}

// One block per row, two passes: the maximum and the sum in one.        x: [rows, cols], any strides  y: the same
// Precondition: gridDim.x == rows. y may be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_online(const T* x, T* y, std::int64_t cols, RowOffsets rows_x, RowOffsets rows_y, std::int64_t step_x,
                   std::int64_t step_y, bool log) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads;
  __shared__ tile::RowScratch<tile::OnlineSoftmax<X>, threads, Warp> scratch;
  x += rows_x(blockIdx.x);
  y += rows_y(blockIdx.x);
  auto seen = tile::OnlineSoftmax<X>::nothing();
  for (std::int64_t i = threadIdx.x; i < cols; i += threads) seen.add(X(x[i * step_x]));
  seen = tile::row_reduce<threads, Warp>(
      seen, [](auto a, auto b) { return tile::merge(a, b); }, scratch);
  const Normalise<X> normalise(seen.max, seen.sum, log);
  for (std::int64_t i = threadIdx.x; i < cols; i += threads) y[i * step_y] = T(normalise(X(x[i * step_x])));
}

template <class P> struct StridedRows {
  P* data;
  RowOffsets rows;
  std::int64_t step;
};

// dx; one thread or a block reads the row twice.                y, dy, dx: [rows, cols], any strides
// Precondition: gridDim.x * Team::rows covers rows. dx may be y or dy: a thread reads only what it writes itself.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    softmax_gradient_streaming(StridedRows<const T> y, StridedRows<const T> dy, StridedRows<T> dx, std::int64_t rows,
                               std::int64_t cols, bool log) {
  using X = Compute<T>;
  __shared__ typename Team::template Scratch<X> scratch;
  const std::int64_t row = Team::row();
  if (row >= rows) return;
  const T *y_row = y.data + y.rows(row), *dy_row = dy.data + dy.rows(row);
  T* dx_row = dx.data + dx.rows(row);
  const Gradient<X> gradient{log};
  X sum = 0;
#pragma unroll 4
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes)
    sum += gradient.term(X(y_row[i * y.step]), X(dy_row[i * dy.step]));
  sum = Team::reduce(
      sum, [](X a, X b) { return a + b; }, scratch);
  for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes)
    dx_row[i * dx.step] = T(gradient.dx(X(y_row[i * y.step]), X(dy_row[i * dy.step]), sum));
}

namespace streaming {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  constexpr Algorithm algorithm = Policy::config.algorithm;
  const SoftmaxProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  const std::int64_t pitch_x = p.x->pitch(), pitch_y = p.y->pitch();
  if constexpr (algorithm == Algorithm::naive)
    return simt::launch(at, softmax_naive<Policy, T>, call.x, call.y, p.rows, p.cols, pitch_x, pitch_y, p.log);
  else if constexpr (algorithm == Algorithm::three_pass)
    return simt::launch(at, softmax_three_pass<Policy, T, Warp>, call.x, call.y, p.cols, pitch_x, pitch_y, p.log);
  else
    return simt::launch(at, softmax_online<Policy, T, Warp>, call.x, call.y, p.cols, RowOffsets::of(p.x->outer),
                        RowOffsets::of(p.y->outer), p.x->step, p.y->step, p.log);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  constexpr Config c = Policy::config;
  const SoftmaxProblem& p = call.plan.problem;
  using Team = tile::BlockRows<c.threads, static_cast<int>(rows_per_block(c)), Warp>;
  return simt::launch(launch_config(call, Warp), softmax_gradient_streaming<Team, T>,
                      StridedRows<const T>{call.y, RowOffsets::of(p.x->outer), p.x->step},
                      StridedRows<const T>{call.dy, RowOffsets::of(p.dy->outer), p.dy->step},
                      StridedRows<T>{call.dx, RowOffsets::of(p.y->outer), p.y->step}, p.rows, p.cols, p.log);
}

}  // namespace streaming
}  // namespace ridge::softmax_detail
