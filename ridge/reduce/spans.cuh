// Rows of a few elements without gaps between them: a block brings its rows to shared memory as one span, in 16-byte
// accesses wherever rows begin, and a thread has a row to itself.
#pragma once
#include <ridge/reduce/finish.cuh>
#include <ridge/tile/row_span.cuh>

namespace ridge::reduce_detail {

// R over a row in shared memory, by one thread, four reads at a time.                              row: [cols]
template <class R>
__device__ __forceinline__ typename R::Output of_row(const typename R::Element* row, int cols,
                                                     const tile::SpanRow<typename R::Element>& own,
                                                     const Finish& finish) {
  if constexpr (R::locates) {  // the extreme, then the first element that is it: places come in no order
    using Value = typename R::Value;
    auto extreme = Value::identity();
#pragma unroll 4
    for (int j = 0; j < cols; ++j) extreme = Value::combine(extreme, row[own.at(j)]);
    int found = cols;
#pragma unroll 4
    for (int j = 0; j < cols; ++j) {
      const int at = own.at(j);
      if (!R::Order::beats(extreme, row[at])) found = ::min(found, at);  // nothing beats it: equal
    }
    return found;
  } else {
    auto partial = R::identity();
#pragma unroll 4
    for (int j = 0; j < cols; ++j) partial = R::combine(partial, R::lift(row[own.at(j)], R::neutral(), 0));
    return R::output(partial, cols, finish);
  }
}

// y[r] = R over row r                                           x: [rows, cols], without gaps   y: [rows]
// Preconditions: 0 < cols <= tile::span_most_cols; rows_of_block is a multiple of tile::span_pair, and as many blocks as
// gridDim.x have all rows; tile::span_room() of dynamic shared memory.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_spans(Input<typename R::Element> in, typename R::Output* y, int rows_of_block, Finish finish) {
  using T = typename R::Element;
  const int cols = static_cast<int>(in.cols);
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block;
  const int here = static_cast<int>(::min(in.rows - first, std::int64_t{rows_of_block}));
  T* room = simt::dynamic_shared<T>();
  const tile::RowSpan<T> span(in.x + first * cols, here * cols);
  span.template bring<S::threads>(in.x + first * cols, room);
  __syncthreads();
  const tile::SpanRow<T> own(cols);
  for (int r = own.first(); r < here; r += S::threads)
    y[row_offset(in.axes, in.axes.y, first + r)] = of_row<R>(room + span.lead + r * cols, cols, own, finish);
}

}  // namespace ridge::reduce_detail
