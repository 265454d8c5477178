// Rows of float32 in double-float arithmetic (tile/two_float.cuh). An exponential of x - max errs by 2^-24 of x - max
// in float32; here the difference is exact, the exponential has 35 bits, and the quotient is rounded once.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/row_lanes.cuh>
#include <ridge/tile/two_float_exponential.cuh>

namespace ridge::softmax_detail {

using tile::TwoFloat;

// A row's lanes read it once and keep it, or read it three times.       x: [rows, cols], any strides  y: the same
// Preconditions: gridDim.x * Config::rows covers rows; with in_registers, cols is at most that for each lane of a row.
// y may be x.
template <class Policy, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_two_float(const float* x, float* y, std::int64_t rows, std::int64_t cols, RowOffsets rows_x,
                      RowOffsets rows_y, std::int64_t step_x, std::int64_t step_y, bool log) {
  constexpr Config c = Policy::config;
  constexpr int K = c.in_registers;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  __shared__ typename Team::template Scratch<float> scratch_max;
  __shared__ typename Team::template Scratch<TwoFloat> scratch_sum;
  const std::int64_t row = Team::row();
  if (row >= rows) return;  // all lanes of the row together
  x += rows_x(row);
  y += rows_y(row);

  // ---- load
  float kept[K > 0 ? K : 1];
  RIDGE_UNROLL_ON_GPU
  for (int k = 0; k < K; ++k) {
    const std::int64_t i = Team::lane() + std::int64_t{k} * Team::lanes;
    kept[k] = i < cols ? x[i * step_x] : tile::minus_infinity<float>;
  }
  // Calls f(element, its column) for each element of this lane.
  const auto for_each = [&](auto&& f) {
    if constexpr (K > 0) {
      RIDGE_UNROLL_ON_GPU
      for (int k = 0; k < K; ++k)
        if (const std::int64_t i = Team::lane() + std::int64_t{k} * Team::lanes; i < cols) f(kept[k], i);
    } else {
      for (std::int64_t i = Team::lane(); i < cols; i += Team::lanes) f(x[i * step_x], i);
    }
  };

  // ---- compute
  float max = tile::minus_infinity<float>;
  for_each([&](float e, std::int64_t) { max = tile::greater(max, e); });
  max = Team::reduce(
      max, [](float a, float b) { return tile::greater(a, b); }, scratch_max);
  const float base = tile::softmax_base(max);
  TwoFloat sum{0, 0};
  for_each([&](float e, std::int64_t) { sum = tile::add(sum, tile::exponential(tile::two_sum(e, -base))); });
  sum = Team::reduce(
      sum, [](TwoFloat a, TwoFloat b) { return tile::add(a, b); }, scratch_sum);

  // ---- finish
  const TwoFloat log_sum = tile::logarithm(sum);
  for_each([&](float e, std::int64_t i) {
    const TwoFloat d = tile::two_sum(e, -base);
    y[i * step_y] =
        log ? tile::to_float(tile::add(d, tile::minus(log_sum))) : tile::quotient(tile::exponential(d), sum);
  });
}

namespace two_float {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  if constexpr (std::is_same_v<T, float>) {
    const SoftmaxProblem& p = call.plan.problem;
    return simt::launch(launch_config(call, Warp), softmax_two_float<Policy, Warp>, call.x, call.y, p.rows, p.cols,
                        RowOffsets::of(p.x->outer), RowOffsets::of(p.y->outer), p.x->step, p.y->step, p.log);
  } else {
    return Status::error(Code::unsupported, "softmax: this variant is for f32");  // refused by fits()
  }
}

}  // namespace two_float
}  // namespace ridge::softmax_detail
