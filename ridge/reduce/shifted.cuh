// Columns at any pitch by 16-byte vectors. If the pitch is no multiple of 16 bytes, each row of the matrix has another
// alignment offset, and every 8th row (every 4th of float) has the same one. So a thread that takes every 8th row, or
// every 16th, loads whole vectors whose element v is always of one column. That column differs between the levels of a
// block: they are added in shared memory, each at its own shift.
#pragma once
#include <ridge/reduce/columns.cuh>
#include <ridge/tile/opaque.cuh>

namespace ridge::reduce_detail {

// A thread's sums over the V columns of its `count` accesses, which are `step` elements apart.
//   p: the first access, on a 16-byte boundary   [first, last): the matrix, outside of which nothing is read
// Preconditions: each access has at least one element of the matrix, and step is at least V. So only the first and the
// last access can reach outside the matrix.
template <class S, class R>
__device__ __forceinline__ auto fold_shifted(const typename R::Element* p, std::int64_t step, int count,
                                             const typename R::Element* first, const typename R::Element* last) {
  using T = typename R::Element;
  constexpr int V = S::template elements<T>, U = S::vectors;
  typename R::template RunningColumns<V> running(0);
  const auto take_part = [&](const T* at) {
    simt::vec<T, V> part;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) part[v] = at + v >= first && at + v < last ? at[v] : R::neutral();
    running.add(part, 0);
  };
  if (count > 0 && p < first) take_part(p), p += step, --count;
  if (count > 0 && p + (count - 1) * step + V > last) take_part(p + (count - 1) * step), --count;
  RIDGE_KEEP_LOOP
  for (; count >= U; count -= U, p += U * step) {
    simt::vec<T, V> x[U];
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) x[u] = simt::load<V>(p + u * step);
    RIDGE_UNROLL_ON_GPU
    for (int u = 0; u < U; ++u) running.add(x[u], 0);
  }
  RIDGE_KEEP_LOOP
  for (; count > 0; --count, p += step) running.add(simt::load<V>(p), 0);
  return running;
}

// partials[s][r] = R over slice s of row r; if there is one slice, y[r] = R over row r
//   x: matrices of [cols, inner], in which a row of the problem is a column  partials: [slices, rows]  y: [rows]
// A block has (lanes - 1) V columns of one slice, and reads one access more per row, as rows start up to V - 1 elements
// after a boundary.
// Preconditions: a block for each slice of each block of columns; footprint().smem of dynamic shared memory; one axis
// is reduced, with a stride of at least `inner`; the last of the rows' axes has `inner` elements side by side; R does
// not locate; V divides the block's levels.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, shifted_blocks_per_sm(S::blocks_per_sm, sizeof(typename R::Element)))
    reduce_shifted(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials, int lanes,
                   std::int64_t slice_elements, std::int64_t slices, Finish finish) {
  tile::launch_dependents();  // the finish
  using T = typename R::Element;
  using Partial = typename R::Partial;
  constexpr int V = S::template elements<T>;
  const int levels = S::threads / lanes, lane = simt::thread_rank() % lanes, level = simt::thread_rank() / lanes;
  const int width = (lanes - 1) * V, line = (lanes + 1) * V;
  const std::int64_t inner = in.axes.shape[in.axes.outer - 1], pitch = in.axes.x[in.axes.outer];
  const auto across = static_cast<unsigned>(quotient(inner + width - 1, width));  // blocks
  unsigned block = blockIdx.x;
  const auto matrix_row = [&] { return block / across * inner; };
  const auto column = [&] { return std::int64_t{block % across} * width; };

  const T* first = in.x + row_offset(in.axes, in.axes.x, matrix_row());
  const std::int64_t begin = blockIdx.y * slice_elements + level;
  const T* row = first + begin * pitch + column();
  const int alignment_offset = misalignment<V>(row),
            mine = lane * V - alignment_offset;  // this thread's first column in the block
  const int left = static_cast<int>(::min(slice_elements - level, in.cols - begin));
  const int count = left > 0 && column() + mine < inner ? (left + levels - 1) / levels : 0;
  const int shifted = level * line + V + mine;
  const auto running =
      fold_shifted<S, R>(row + mine, levels * pitch, count, first, first + (in.cols - 1) * pitch + inner);

  Partial* merged = simt::dynamic_shared<Partial>();  // [levels, 1 + lanes, V]: column c of the block at V + c
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; ++v) merged[shifted + v] = running.result(v);
  __syncthreads();
  tile::make_opaque(block);  // so that values derived from it take no registers meanwhile
  const std::int64_t r = matrix_row() + column();
  const auto existing = static_cast<int>(::min(inner - column(), std::int64_t{width}));
  for (int c = simt::thread_rank(); c < existing; c += S::threads) {
    Partial partial = merged[V + c];
    for (int l = 1; l < levels; ++l) partial = R::combine(partial, merged[l * line + V + c]);
    if (slices > 1) partials[blockIdx.y * in.rows + r + c] = partial;
    else write_column<R>(in, y + row_offset(in.axes, in.axes.y, r + c), partial, finish);
  }
}

namespace shifted {

template <class P, class R> static Status launch(const Call<R>& call) {
  using S = ShapeOf<P>;
  const ReducePlan& plan = call.args.plan;
  RIDGE_TRY(simt::launch(launch_config(call, plan.slices), reduce_shifted<S, R>, call.in, call.y, call.partials,
                         lanes_of(plan.extent, S::template elements<typename R::Element>),
                         columns::slice_elements(call), plan.slices, call.finish));
  return columns::finish_columns(call);
}

}  // namespace shifted
}  // namespace ridge::reduce_detail
