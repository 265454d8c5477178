// Evenly spaced rows of any alignment, read once, element by element, and kept in registers. A row's lanes have
// elements side by side, so that a warp's access is whole sectors; lanes of short rows have several rows at a time.
#pragma once
#include <ridge/softmax/element.cuh>
#include <ridge/softmax/launch.cuh>
#include <ridge/tile/multiply_add.cuh>
#include <ridge/tile/row_lanes.cuh>

namespace ridge::softmax_detail {

// exp(d) of a difference d <= 0, in few instructions: of float32, one below the least normal number may be 0.
__device__ __forceinline__ float exponential_below(float d) {
  return simt::fast_exp2(d * tile::ScaledExponential::log2_e);
}
__device__ __forceinline__ double exponential_below(double d) { return ::exp(d); }
// 1 / sum, for sums from 1 on, 0 and NaN.
__device__ __forceinline__ float reciprocal(float sum) { return simt::fast_reciprocal(sum); }
__device__ __forceinline__ double reciprocal(double sum) { return 1 / sum; }

// What a lane has of a block's rows: elements at, at + step, ... of rows first, first + side, ...
template <class Policy, class T, int Warp, bool Backward> struct ElementsOfRows {
  static constexpr Config c = Policy::config;
  static constexpr int R = c.rows_per_lane, K = elements_of_rows::kept(c, Backward, sizeof(T) == 8);
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  static constexpr int step = Team::lanes;
  static_assert(R == 1 || Team::lanes <= Warp, "a block's reduction is of one row");
  std::int64_t first, rows;
  int at, left;  // elements of a row from this lane's first one on

  __device__ __forceinline__ ElementsOfRows(std::int64_t all_rows, int cols)
      : first(std::int64_t{blockIdx.x} * c.rows * R + Team::row_of_block()),
        rows(all_rows),
        at(Team::lane()),
        left(cols - Team::lane()) {}
  __device__ __forceinline__ std::int64_t row(int t) const { return first + t * c.rows; }
  __device__ __forceinline__ bool has(int t, int k) const { return row(t) < rows && k * step < left; }

  // tensor: [rows, cols], pitch between rows. Absent elements are `absent`.
  __device__ __forceinline__ void load(const T* tensor, std::int64_t pitch, T absent, T (&to)[R][K]) const {
#pragma unroll
    for (int t = 0; t < R; ++t) {
      const T* in = tensor + row(t) * pitch + at;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        to[t][k] = absent;
        if (has(t, k)) to[t][k] = in[k * step];
      }
    }
  }
  // Stores value(t, k) for every element that there is.
  template <class Value> __device__ __forceinline__ void store(T* tensor, std::int64_t pitch, Value&& value) const {
#pragma unroll
    for (int t = 0; t < R; ++t) {
      T* out = tensor + row(t) * pitch + at;
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (has(t, k)) out[k * step] = T(value(t, k));
    }
  }
};

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times.
// Preconditions: a row's elements are contiguous, and at most kept(Config) for each of its lanes; the grid covers rows.
// y may be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_elements(const T* x, T* y, std::int64_t rows, int cols, std::int64_t pitch_x, std::int64_t pitch_y,
                     bool log) {
  using X = Compute<T>;
  using Rows = ElementsOfRows<Policy, T, Warp, false>;
  using Team = typename Rows::Team;
  constexpr int R = Rows::R, K = Rows::K;
  __shared__ typename Team::template Scratch<X> scratch_max, scratch_sum;
  const Rows lane(rows, cols);
  if (lane.first >= rows) return;  // all lanes of the row together

  // ---- load: absent elements are -inf, which changes neither maximum nor sum
  T loaded[R][K];
  lane.load(x, pitch_x, T(tile::minus_infinity<X>), loaded);

  // ---- compute: rows side by side. Each exponential is taken once, and kept; logarithms need the differences instead.
  X e[R][K], base[R], sum[R] = {};
#pragma unroll
  for (int t = 0; t < R; ++t) {
    X max = tile::minus_infinity<X>;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      e[t][k] = X(loaded[t][k]);
      max = tile::greater(max, e[t][k]);
    }
    base[t] = max;
  }
#pragma unroll
  for (int t = 0; t < R; ++t)
    base[t] = tile::softmax_base(Team::reduce(
        base[t], [](X a, X b) { return tile::greater(a, b); }, scratch_max));
#pragma unroll
  for (int t = 0; t < R; ++t)
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const X difference = e[t][k] - base[t], term = exponential_below(difference);
      sum[t] += term;
      e[t][k] = log ? difference : term;
    }
  X scale[R], shift[R];
#pragma unroll
  for (int t = 0; t < R; ++t) {
    sum[t] = Team::reduce(
        sum[t], [](X a, X b) { return a + b; }, scratch_sum);
    scale[t] = log ? X(1) : reciprocal(sum[t]);
    shift[t] = log ? -logarithm(sum[t]) : X(0);
  }

  // ---- finish
  lane.store(y, pitch_y, [&](int t, int k) { return tile::multiply_add(e[t][k], scale[t], shift[t]); });
}

// dx                                                           y, dy, dx: [rows, cols], pitches between rows
// Preconditions: as above, for y, dy and dx. dx may be y or dy.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    softmax_gradient_elements(const T* y, const T* dy, T* dx, std::int64_t rows, int cols, std::int64_t pitch_y,
                              std::int64_t pitch_dy, std::int64_t pitch_dx, bool log) {
  using X = Compute<T>;
  using Rows = ElementsOfRows<Policy, T, Warp, true>;
  using Team = typename Rows::Team;
  constexpr int R = Rows::R, K = Rows::K;
  __shared__ typename Team::template Scratch<X> scratch;
  const Rows lane(rows, cols);
  if (lane.first >= rows) return;

  // ---- load: absent elements are 0, which changes no sum
  T of_y[R][K], of_dy[R][K];
  lane.load(y, pitch_y, T(0.0f), of_y);
  lane.load(dy, pitch_dy, T(0.0f), of_dy);

  // ---- compute: rows side by side
  const Gradient<X> gradient{log};
  X sum[R] = {};
#pragma unroll
  for (int t = 0; t < R; ++t)
#pragma unroll
    for (int k = 0; k < K; ++k) sum[t] += gradient.term(X(of_y[t][k]), X(of_dy[t][k]));
#pragma unroll
  for (int t = 0; t < R; ++t)
    sum[t] = Team::reduce(
        sum[t], [](X a, X b) { return a + b; }, scratch);

  // ---- finish
  lane.store(dx, pitch_dx, [&](int t, int k) { return gradient.dx(X(of_y[t][k]), X(of_dy[t][k]), sum[t]); });
}

namespace elements_of_rows {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_elements<Policy, T, Warp>, call.x, call.y, p.rows,
                      static_cast<int>(p.cols), p.x->pitch(), p.y->pitch(), p.log);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_gradient_elements<Policy, T, Warp>, call.y, call.dy, call.dx,
                      p.rows, static_cast<int>(p.cols), p.x->pitch(), p.dy->pitch(), p.y->pitch(), p.log);
}

}  // namespace elements_of_rows
}  // namespace ridge::softmax_detail
