// Neighbouring lanes fold neighbouring rows: for rows whose elements are apart, but beside those of other rows, as the
// columns of a matrix are. With one element per access, the same loop takes any strides.
#pragma once
#include <ridge/reduce/finish.cuh>
#include <ridge/tile/columns.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::reduce_detail {

// Writes y[row] from its only partial result.
template <class R>
__device__ __forceinline__ void write_column(const Input<typename R::Element>& in, typename R::Output* y,
                                             typename R::Partial partial, const Finish& finish) {
  if constexpr (R::locates) *y = partial.tile;
  else *y = R::output(partial, in.cols, finish);
}

// The same for V neighbouring rows.
template <class R, int V>
__device__ __forceinline__ void write_columns(const Input<typename R::Element>& in, typename R::Output* y,
                                              std::int64_t row, const simt::vec<typename R::Partial, V>& partials,
                                              const Finish& finish) {
  y += row_offset(in.axes, in.axes.y, row);
  const std::int64_t step = in.axes.outer > 0 ? in.axes.y[in.axes.outer - 1] : 0;
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; ++v) write_column<R>(in, y + v * step, partials[v], finish);
}

// A thread's partial results of V rows, over their elements begin, begin + depth, ... before end.
//   x, z: the rows' starts
template <class S, class R>
__device__ __forceinline__ auto fold_columns(const Input<typename R::Element>& in, const typename R::Element* x,
                                             [[maybe_unused]] const typename R::Element* z, std::int64_t begin,
                                             std::int64_t end, int depth) {
  using T = typename R::Element;
  constexpr int V = S::template elements<T>, U = S::template in_columns<T>;
  using Vec = simt::vec<T, V>;
  const ReduceAxes& axes = in.axes;
  typename R::template RunningColumns<V> running(begin < end ? begin : none_yet);
  const auto add = [&](const Vec& a, [[maybe_unused]] const Vec& b, std::int64_t index) {
    if constexpr (R::inputs == 2) running.add(a, b, index);
    else running.add(a, index);
  };
  if (axes.rank - axes.outer != 1) {  // a division for each further reduced axis
    for (std::int64_t i = begin; i < end; i += depth) {
      Vec a = simt::load<V>(x + col_offset(axes, axes.x, i)), b = {};
      if constexpr (R::inputs == 2) b = simt::load<V>(z + col_offset(axes, axes.z, i));
      add(a, b, i);
    }
  } else {
    const std::int64_t step_x = axes.x[axes.outer];
    [[maybe_unused]] const std::int64_t step_z = axes.z[axes.outer];
    const auto take = [&](std::int64_t i, auto guarded) {  // U independent accesses
      Vec a[U], b[R::inputs == 2 ? U : 1];
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u) {
        const std::int64_t from = i + u * depth;
        bool exists = true;
        if constexpr (guarded.value) {
          exists = from < end;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) a[u][v] = b[R::inputs == 2 ? u : 0][v] = R::neutral();
        }
        if (exists) a[u] = simt::load<V>(x + from * step_x);
        if constexpr (R::inputs == 2)
          if (exists) b[u] = simt::load<V>(z + from * step_z);
      }
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u) add(a[u], b[R::inputs == 2 ? u : 0], i + u * depth);
    };
    std::int64_t i = begin;
    for (; i + (U - 1) * depth < end; i += U * depth) take(i, std::false_type());
    if (i < end) take(i, std::true_type());
  }
  simt::vec<typename R::Partial, V> partial;
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; ++v) partial[v] = running.result(v);
  return partial;
}

// partials[s][r] = R over slice s of row r; if there is one slice, y[r] = R over row r
//   x: [rows, cols]  z: [rows, cols] or none  partials: [slices, rows]  y: [rows]
// Preconditions: dynamic shared memory is tile::column_scratch(). If V, the elements of an access, is more than one: V
// divides the last of the rows' axes, in which x's stride is 1; x and its other strides are multiples of V.
template <class S, class R>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_columns(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials,
                   tile::ColumnBlock k, std::int64_t slice_elements, std::int64_t slices, Finish finish) {
  tile::launch_dependents();  // the finish
  constexpr int V = S::template elements<typename R::Element>;
  const tile::ColumnThread at(k);
  const std::int64_t in_block = std::int64_t{k.groups} * k.lanes * V, blocks = (in.rows + in_block - 1) / in_block;
  for (std::int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
    const std::int64_t row = b * in_block + (std::int64_t{at.group} * k.lanes + at.lane) * V;
    const bool exists = row < in.rows;
    const auto* x = in.x + (exists ? row_offset(in.axes, in.axes.x, row) : 0);
    const auto* z = R::inputs == 2 ? in.z + (exists ? row_offset(in.axes, in.axes.z, row) : 0) : nullptr;
    for (std::int64_t slice = blockIdx.y; slice < slices; slice += gridDim.y) {
      const std::int64_t begin = slice * slice_elements;
      const std::int64_t end = exists ? ::min(begin + slice_elements, in.cols) : 0;
      auto mine = fold_columns<S, R>(in, x, z, begin + at.level, end, k.depth);
      tile::merge_levels(mine, at, k, Combine<R>());
      if (at.level > 0 || !exists) continue;
      if (slices == 1) {
        write_columns<R>(in, y, row, mine, finish);
      } else {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) partials[slice * in.rows + row + v] = mine[v];
      }
    }
  }
}

// y[r] = R over partials[...][r]                    partials: [slices, rows]  y: [rows]
// It may start before the partial results are written (tile/dependent_launch.cuh).
// Precondition: dynamic shared memory is tile::column_scratch() for one partial result.
template <class R>
__global__ void __launch_bounds__(column_finish.threads)
    reduce_column_partials(Input<typename R::Element> in, typename R::Output* y, const typename R::Partial* partials,
                           std::int64_t slices, tile::ColumnBlock k, Finish finish) {
  const tile::ColumnThread at(k);
  const std::int64_t in_block = std::int64_t{k.groups} * k.lanes, blocks = (in.rows + in_block - 1) / in_block;
  tile::grid_dependency_wait();
  for (std::int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
    const std::int64_t row = b * in_block + std::int64_t{at.group} * k.lanes + at.lane;
    simt::vec<typename R::Partial, 1> mine{R::identity()};
    constexpr int U = column_finish.vectors;
    for (std::int64_t s = at.level; row < in.rows && s < slices; s += U * k.depth) {
      typename R::Partial p[U];
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u) {
        const std::int64_t from = s + u * k.depth;
        p[u] = from < slices ? partials[from * in.rows + row] : R::identity();
      }
      RIDGE_UNROLL_ON_GPU
      for (int u = 0; u < U; ++u) mine[0] = R::combine(mine[0], p[u]);
    }
    tile::merge_levels(mine, at, k, Combine<R>());
    if (at.level == 0 && row < in.rows) write_column<R>(in, y + row_offset(in.axes, in.axes.y, row), mine[0], finish);
  }
}

namespace columns {

// Elements of a slice.
template <class R> static std::int64_t slice_elements(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  const Tiling t = tiling_of(call);
  return t.slice_tiles(plan.extent.cols, plan.slices) * t.tile_elements();
}

// Adds partial results [slices, rows], if there are any. On Hopper its start overlaps the first kernel's end.
template <class R> static Status finish_columns(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  if (plan.slices == 1) return {};
  constexpr int threads = column_finish.threads;
  const tile::ColumnBlock k = block_of_finish(plan.extent.rows, plan.slices);
  const std::int64_t blocks = std::min(ceil_div(plan.extent.rows, std::int64_t{k.lanes} * k.groups), max_grid);
  const simt::Config at =
      launch_config(call, blocks, 1, threads, tile::column_scratch<typename R::Partial, 1>(threads));
  const auto finish = reduce_column_partials<R>;
  return tile::launch_dependent(plan.device.cc, at, finish, call.in, call.y, call.partials, plan.slices, k,
                                call.finish);
}

template <class P, class R> static Status launch(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  RIDGE_TRY(simt::launch(launch_config(call, plan.slices), reduce_columns<ShapeOf<P>, R>, call.in, call.y,
                         call.partials, block_of(P::config, plan.extent, sizeof(typename R::Element)),
                         slice_elements(call), plan.slices, call.finish));
  return finish_columns(call);
}

}  // namespace columns
}  // namespace ridge::reduce_detail
