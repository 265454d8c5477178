// Rows of a few columns, without gaps between them: a thread has a row, which the block brought to shared memory with its
// others as one span.
#pragma once
#include <ridge/softmax/gradient.cuh>
#include <ridge/softmax/streaming.cuh>
#include <ridge/tile/row_span.cuh>

namespace ridge::softmax_detail {

// y[r][:] = softmax(x[r][:])                                        x: [rows, cols], y: [rows, cols], without gaps
// Preconditions: cols <= span_most_cols; gridDim.x * rows_of_block covers rows, rows_of_block is a multiple of span_pair;
// x and y lie alike on 16-byte units; span_smem_bytes() of dynamic shared memory. y may be x.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, sizeof(T) == 8 ? 1 : Row::config.blocks_per_sm)
    softmax_span(const T* x, T* y, std::int64_t rows, int cols, int rows_of_block, bool log) {
  using X = Compute<T>;
  constexpr int threads = Row::config.threads, most = tile::span_most_cols;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const tile::RowSpan<T> span(x + first * cols, here * cols);
  span.template bring<threads>(x + first * cols, room);
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  for (int r = own.first(); r < here; r += threads) {
    T* row = room + span.lead + r * cols;
    X e[most], max = tile::minus_infinity<X>, sum = 0;
    own.template unrolled<most>([&](int j, int at) {
      e[j] = at >= 0 ? X(row[at]) : tile::minus_infinity<X>;
      max = tile::greater(max, e[j]);
    });
    const X base = tile::softmax_base(max);
    own.template unrolled<most>([&](int j, int) {  // -inf, behind the row's end, adds nothing
      const X term = tile::exponential(e[j] - base);
      sum += term;
      if (!log) e[j] = term;
    });
    const Normalise<X> normalise(max, sum, log);
    own.again().template unrolled<most>([&](int j, int at) {
      if (at >= 0) row[at] = T(log ? e[j] - base - normalise.log_sum : e[j] * normalise.scale);
    });
  }
  __syncthreads();
  span.template send<threads>(room, y + first * cols);
}

// dx of both.                                                       y, dy, dx: [rows, cols], without gaps
// Preconditions: as above, of all three. dx may be y or dy.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    softmax_gradient_span(const T* y, const T* dy, T* dx, std::int64_t rows, int cols, int rows_of_block, bool log) {
  using X = Compute<T>;
  constexpr int threads = Row::config.threads;
  [[maybe_unused]] constexpr int at_once = sizeof(T) == 8 ? 1 : 4;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(rows - first, std::int64_t{rows_of_block}));
  T* room_y = simt::dynamic_shared<T>();
  T* room_dy = room_y + tile::span_room(rows_of_block, cols, sizeof(T)) / static_cast<int>(sizeof(T));
  const tile::RowSpan<T> span(y + first * cols, here * cols);
  span.template bring<threads>(y + first * cols, room_y);
  span.template bring<threads>(dy + first * cols, room_dy);
  __syncthreads();

  const tile::SpanRow<T> own(cols);
  const Gradient<X> gradient{log};
  for (int r = own.first(); r < here; r += threads) {
    T *of_y = room_y + span.lead + r * cols, *of_dy = room_dy + span.lead + r * cols;
    X sum = 0;
#pragma unroll at_once
    for (int j = 0; j < cols; ++j) sum += gradient.term(X(of_y[own.at(j)]), X(of_dy[own.at(j)]));
#pragma unroll at_once
    for (int j = 0; j < cols; ++j) {
      const int at = own.at(j);
      of_y[at] = T(gradient.dx(X(of_y[at]), X(of_dy[at]), sum));
    }
  }
  __syncthreads();
  span.template send<threads>(room_y, dx + first * cols);
}

}  // namespace ridge::softmax_detail
