// Multi-block rows: few long rows, each split over many blocks. A first kernel writes the partial results of every
// slice; in a second one, each block merges those of its row, all in the same order, and writes its slice.
#pragma once
#include <ridge/softmax/vector.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/row_slices.cuh>

namespace ridge::softmax_detail {

// partials[row][slice] = maximum and sum of x's slice       x: [rows, cols], pitch between rows
// Preconditions: gridDim.x == rows * of.of_row; rows are aligned to their elements' size.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_split_sums(const T* x, tile::OnlineSoftmax<Compute<T>>* partials, std::int64_t cols, std::int64_t pitch,
                       tile::Slices of) {
  constexpr int threads = Policy::config.threads;
  __shared__ tile::RowScratch<tile::OnlineSoftmax<Compute<T>>, threads, Warp> scratch;
  tile::launch_dependents();
  const tile::SliceOfBlock mine(of, cols);
  x += mine.row * pitch + mine.begin;
  const auto seen = tile::row_reduce<threads, Warp>(
      VectorPart<threads, T>(x, mine.size).seen(x), [](auto a, auto b) { return tile::merge(a, b); }, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = seen;
}

// y of the slice                                            x, y: [rows, cols], pitches between rows
// Preconditions: as above. y may be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_split_write(const T* x, T* y, const tile::OnlineSoftmax<Compute<T>>* partials, std::int64_t cols,
                        std::int64_t pitch_x, std::int64_t pitch_y, tile::Slices of, bool log) {
  constexpr int threads = Policy::config.threads;
  __shared__ tile::RowScratch<tile::OnlineSoftmax<Compute<T>>, threads, Warp> scratch;
  const tile::SliceOfBlock mine(of, cols);
  x += mine.row * pitch_x + mine.begin;
  y += mine.row * pitch_y + mine.begin;
  const VectorPart<threads, T> part(x, mine.size);
  tile::grid_dependency_wait();
  auto seen = tile::OnlineSoftmax<Compute<T>>::nothing();
  partials += mine.row * of.of_row;
  for (int i = static_cast<int>(threadIdx.x); i < of.of_row; i += threads) seen = tile::merge(seen, partials[i]);
  seen = tile::row_reduce<threads, Warp>(
      seen, [](auto a, auto b) { return tile::merge(a, b); }, scratch);
  part.write(x, y, Normalise<Compute<T>>(seen.max, seen.sum, log));
}

// partials[row][slice] = the slice's part of dx's sum                    y, dy: [rows, cols], pitches between rows
// Preconditions: as above, for y and dy, whose rows are co-aligned on 16 bytes.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_split_gradient_sums(const T* y, const T* dy, Compute<T>* partials, std::int64_t cols, std::int64_t pitch_y,
                                std::int64_t pitch_dy, tile::Slices of, bool log) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads, V = tile::vector_elements<T>;
  __shared__ tile::RowScratch<X, threads, Warp> scratch;
  tile::launch_dependents();
  const tile::SliceOfBlock mine(of, cols);
  y += mine.row * pitch_y + mine.begin;
  dy += mine.row * pitch_dy + mine.begin;
  const Gradient<X> gradient{log};
  X sum = 0;
  VectorPart<threads, T>(dy, mine.size)
      .for_each(
          dy,
          [&](const simt::vec<T, V>& vector, std::int64_t at) {
            const auto other = simt::load<V>(y + at);
#pragma unroll
            for (int v = 0; v < V; ++v) sum += gradient.term(X(other[v]), X(vector[v]));
          },
          [&](std::int64_t i) { sum += gradient.term(X(y[i]), X(dy[i])); });
  sum = tile::row_reduce<threads, Warp>(
      sum, [](X a, X b) { return a + b; }, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// dx of the slice                                           y, dy, dx: [rows, cols], pitches between rows
// Preconditions: as above, for all three. dx may be y or dy.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_split_gradient_write(const T* y, const T* dy, T* dx, const Compute<T>* partials, std::int64_t cols,
                                 std::int64_t pitch_y, std::int64_t pitch_dy, std::int64_t pitch_dx, tile::Slices of,
                                 bool log) {
  using X = Compute<T>;
  constexpr int threads = Policy::config.threads, V = tile::vector_elements<T>;
  __shared__ tile::RowScratch<X, threads, Warp> scratch;
  const tile::SliceOfBlock mine(of, cols);
  y += mine.row * pitch_y + mine.begin;
  dy += mine.row * pitch_dy + mine.begin;
  dx += mine.row * pitch_dx + mine.begin;
  const Gradient<X> gradient{log};
  tile::grid_dependency_wait();
  X sum = 0;
  partials += mine.row * of.of_row;
  for (int i = static_cast<int>(threadIdx.x); i < of.of_row; i += threads) sum += partials[i];
  sum = tile::row_reduce<threads, Warp>(
      sum, [](X a, X b) { return a + b; }, scratch);
  VectorPart<threads, T>(dy, mine.size)
      .for_each(
          dy,
          [&](simt::vec<T, V> vector, std::int64_t at) {
            const auto other = simt::load<V>(y + at);
#pragma unroll
            for (int v = 0; v < V; ++v) vector[v] = T(gradient.dx(X(other[v]), X(vector[v]), sum));
            simt::store_streaming(dx + at, vector);
          },
          [&](std::int64_t i) { dx[i] = T(gradient.dx(X(y[i]), X(dy[i]), sum)); });
}

namespace split {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  const Slices slices = slices_of(Policy::config, p, call.plan.device);
  using Seen = tile::OnlineSoftmax<Compute<T>>;
  auto* partials = static_cast<Seen*>(call.workspace);
  RIDGE_TRY(simt::launch(at, softmax_split_sums<Policy, T, Warp>, call.x, partials, p.cols, p.x->pitch(), slices));
  return tile::launch_dependent(call.plan.device.cc, at, softmax_split_write<Policy, T, Warp>, call.x, call.y,
                                static_cast<const Seen*>(partials), p.cols, p.x->pitch(), p.y->pitch(), slices, p.log);
}

template <class Policy, class T, int Warp> static Status launch(const Backward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  const simt::Config at = launch_config(call, Warp);
  const Slices slices = slices_of(Policy::config, p, call.plan.device);
  auto* partials = static_cast<Compute<T>*>(call.workspace);
  RIDGE_TRY(simt::launch(at, softmax_split_gradient_sums<Policy, T, Warp>, call.y, call.dy, partials, p.cols,
                         p.x->pitch(), p.dy->pitch(), slices, p.log));
  return tile::launch_dependent(call.plan.device.cc, at, softmax_split_gradient_write<Policy, T, Warp>, call.y, call.dy,
                                call.dx, static_cast<const Compute<T>*>(partials), p.cols, p.x->pitch(), p.dy->pitch(),
                                p.y->pitch(), slices, p.log);
}

}  // namespace split
}  // namespace ridge::softmax_detail
