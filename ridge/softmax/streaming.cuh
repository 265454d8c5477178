// The row is read more than once: the ladder's first steps, rows too long to keep, and any strides.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/softmax/variants.hpp>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/row_lanes.cuh>

namespace ridge::softmax_detail {

template <class T> struct ComputeType { using type = float; };
template <> struct ComputeType<double> { using type = double; };
template <class T> using Compute = typename ComputeType<T>::type;

__device__ __forceinline__ float logarithm(float x) { return logf(x); }
__device__ __forceinline__ double logarithm(double x) { return ::log(x); }

// The answer for one element, from its row's base and sum.
template <class X> struct Normalise {
  X base, scale, log_sum;
  bool log;
  __device__ __forceinline__ Normalise(X max, X sum, bool as_log)
      : base(tile::softmax_base(max)), scale(X(1) / sum), log_sum(as_log ? logarithm(sum) : X(0)), log(as_log) {}
  __device__ __forceinline__ X operator()(X x) const {
    return log ? x - base - log_sum : tile::exponential(x - base) * scale;
  }
};

// One thread per row; neighbouring threads read a whole pitch apart.    x: [rows, cols]  y: [rows, cols]
// Precondition: gridDim.x * threads covers rows. y may be x.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    softmax_naive(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                  bool log) {
  using X = Compute<T>;
  const std::int64_t row = std::int64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
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

// A block, or a part of its warps, per row, three passes.               x: [rows, cols]  y: [rows, cols]
// Precondition: gridDim.x * Config::rows covers rows. y may be x.
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads)
    softmax_three_pass(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x,
                       std::int64_t pitch_y, bool log) {
  using X = Compute<T>;
  using Team = tile::BlockRows<Row::config.threads, Row::config.rows, Warp>;
  __shared__ typename Team::template Scratch<X> scratch_max, scratch_sum;
  const std::int64_t row = Team::row();
  if (row >= rows) return;  // all lanes of a row
  x += row * pitch_x;
  y += row * pitch_y;
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
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads)
    softmax_online(const T* x, T* y, std::int64_t cols, RowOffsets rows_x, RowOffsets rows_y, std::int64_t step_x,
                   std::int64_t step_y, bool log) {
  using X = Compute<T>;
  constexpr int threads = Row::config.threads;
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

// A part of a row by 16-byte units, by a block's threads: [0, head) and [tail, cols) are not whole units.
template <int Threads, class T> struct VectorPart {
  static constexpr int V = unit_bytes / sizeof(T);
  static constexpr int U = 4;  // independent units in flight per thread
  std::int64_t cols, head, units, tail;

  __device__ __forceinline__ VectorPart(const T* x, std::int64_t n) : cols(n) {
    const std::int64_t to_boundary =
        (unit_bytes - reinterpret_cast<std::uintptr_t>(x) % unit_bytes) % unit_bytes / sizeof(T);
    head = to_boundary < cols ? to_boundary : cols;
    units = (cols - head) / V;
    tail = head + units * V;
  }

  // unit(vec, at) for the units of this thread, element(at) for its elements beside them.
  template <class Unit, class Element>
  __device__ __forceinline__ void for_each(const T* x, Unit&& unit, Element&& element) const {
    std::int64_t u = threadIdx.x;
    for (; u + (U - 1) * Threads < units; u += U * Threads) {
      simt::vec<T, V> several[U];
#pragma unroll
      for (int k = 0; k < U; ++k) several[k] = simt::load<V>(x + head + (u + k * Threads) * V);
#pragma unroll
      for (int k = 0; k < U; ++k) unit(several[k], head + (u + k * Threads) * V);
    }
    for (; u < units; u += Threads) unit(simt::load<V>(x + head + u * V), head + u * V);
    for (std::int64_t i = threadIdx.x; i < head; i += Threads) element(i);
    for (std::int64_t i = tail + threadIdx.x; i < cols; i += Threads) element(i);
  }

  // Maximum and sum of what this thread has: a unit's maximum first, so that the sum is rescaled once per unit.
  __device__ __forceinline__ tile::OnlineSoftmax<float> seen(const T* x) const {
    auto seen = tile::OnlineSoftmax<float>::nothing();
    for_each(
        x,
        [&](const simt::vec<T, V>& unit, std::int64_t) {
          float max = seen.max;
#pragma unroll
          for (int v = 0; v < V; ++v) max = tile::greater(max, float(unit[v]));
          const float base = tile::softmax_base(max);
          float sum = seen.sum * tile::exponential(seen.max - base);
#pragma unroll
          for (int v = 0; v < V; ++v) sum += tile::exponential(float(unit[v]) - base);
          seen = {max, sum};
        },
        [&](std::int64_t i) { seen.add(float(x[i])); });
    return seen;
  }
  // x and y lie alike on 16-byte units.
  __device__ __forceinline__ void write(const T* x, T* y, const Normalise<float>& normalise) const {
    for_each(
        x,
        [&](simt::vec<T, V> unit, std::int64_t at) {
#pragma unroll
          for (int v = 0; v < V; ++v) unit[v] = T(normalise(float(unit[v])));
          simt::store_streaming(y + at, unit);
        },
        [&](std::int64_t i) { y[i] = T(normalise(float(x[i]))); });
  }
  // Element by element, eight of them under way, wherever x and y lie.
  __device__ __forceinline__ void write_elements(const T* x, T* y, const Normalise<float>& normalise) const {
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < cols; i += Threads) y[i] = T(normalise(float(x[i])));
  }
};

// The same by 16-byte units, for rows too long to keep. The second read is served by the L2 cache as far as the rows
// in flight fit there, so stores are told to leave it first.            x: [rows, cols]  y: [rows, cols]
// Preconditions: gridDim.x == rows; rows of x and y lie alike on 16-byte units. y may be x.
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads)
    softmax_vector(const T* x, T* y, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y, bool log) {
  constexpr int threads = Row::config.threads;
  __shared__ tile::RowScratch<tile::OnlineSoftmax<float>, threads, Warp> scratch;
  x += blockIdx.x * pitch_x;
  y += blockIdx.x * pitch_y;
  const VectorPart<threads, T> part(x, cols);
  const auto seen = tile::row_reduce<threads, Warp>(
      part.seen(x), [](auto a, auto b) { return tile::merge(a, b); }, scratch);
  part.write(x, y, Normalise<float>(seen.max, seen.sum, log));
}

}  // namespace ridge::softmax_detail
