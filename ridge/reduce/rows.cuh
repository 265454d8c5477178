// Some lanes of a warp fold a contiguous row.
#pragma once
#include <ridge/reduce/fold.cuh>

namespace ridge::reduce_detail {

// y[r] = R over row r                                x: [rows, cols]  y: [rows]
// Preconditions: rows are contiguous; S::row_threads is at most the warp.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_rows(Input<typename R::Element> in, typename R::Output* y, Finish finish) {
  const simt::tiles<S::row_threads> lanes;
  constexpr int groups = S::threads / S::row_threads;  // rows of a block at a time
  for (std::int64_t first = std::int64_t{blockIdx.x} * groups; first < in.rows;
       first += std::int64_t{gridDim.x} * groups) {
    const std::int64_t mine = first + lanes.index(), row = ::min(mine, in.rows - 1);  // beyond the end: the last row
    const auto partial = lanes.reduce(fold<S, R>(in, row, lanes.rank(), 0, 1, 0), Combine<R>());
    write_result<R>(in, y, row, partial, finish, lanes, mine == row);
  }
}

namespace rows {

template <class P, class R> static Status launch(const Call<R>& call) {
  return simt::launch(launch_config(call), reduce_rows<ShapeOf<P>, R>, call.in, call.y, call.finish);
}

}  // namespace rows
}  // namespace ridge::reduce_detail
