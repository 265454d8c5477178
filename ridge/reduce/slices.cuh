// A block folds a slice of a contiguous row.
#pragma once
#include <ridge/reduce/fold.cuh>
#include <ridge/tile/last_block.cuh>

namespace ridge::reduce_detail {

// partials[r][s] = R over slice s of row r; if there is one slice, y[r] = R over row r
//   x: [rows, cols]  z: [rows, cols] or none  partials: [rows, slices]  y: [rows]
// Preconditions: rows are contiguous, and row r of x and that of z are co-aligned.
template <class S, class R, int Warp>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_slices(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials,
                  std::int64_t slices, std::int64_t slice_tiles, Finish finish) {
  const tile::block<S::threads, Warp> block;
  for (std::int64_t row = blockIdx.x; row < in.rows; row += gridDim.x)
    for (std::int64_t slice = blockIdx.y; slice < slices; slice += gridDim.y) {
      const auto partial = block.reduce(fold<S, R>(in, row, block.rank(), slice, slices, slice_tiles), Combine<R>());
      if (slices == 1) write_result<R>(in, y, row, partial, finish, block);
      else if (block.rank() == 0) partials[row * slices + slice] = partial;
    }
}

// y[0] = R over a single row, in one launch: the last block to arrive combines all partial results, always in the same
// order, whichever block it is.
//   x: [1, cols]  partials: [slices]  y: [1]
// Preconditions: as above; gridDim.y is slices, at most tile::most_arrivals; R does not locate.
template <class S, class R, int Warp>
__global__ void __launch_bounds__(S::threads, S::blocks_per_sm)
    reduce_last_block(Input<typename R::Element> in, typename R::Output* y, typename R::Partial* partials,
                      tile::Arrivals* arrivals, tile::Arrivals run, std::int64_t slices, std::int64_t slice_tiles,
                      Finish finish) {
  const tile::block<S::threads, Warp> block;
  const std::int64_t slice = blockIdx.y;
  auto partial = block.reduce(fold<S, R>(in, 0, block.rank(), slice, slices, slice_tiles), Combine<R>());
  if (block.rank() == 0) partials[slice] = partial;
  if (!tile::is_last_to_arrive(arrivals, run, slices)) return;
  partial = R::identity();
  for (std::int64_t s = block.rank(); s < slices; s += S::threads) partial = R::combine(partial, partials[s]);
  write_result<R>(in, y, 0, block.reduce(partial, Combine<R>()), finish, block);
}

namespace slices {

// Precondition: there are several slices.
template <class S, class R> static Status launch_last_block(const Call<R>& call, std::int64_t slice_tiles) {
  const ReducePlan& plan = call.args.plan;
  void* workspace = call.args.workspace;
  auto* partials = reinterpret_cast<typename R::Partial*>(static_cast<char*>(workspace) + arrival_bytes);
  return simt::with_warp(plan.device.warp, [&](auto width) {
    return simt::launch(launch_config(call, plan.slices), reduce_last_block<S, R, decltype(width)::value>, call.in,
                        call.y, partials, static_cast<tile::Arrivals*>(workspace), tile::run_number(), plan.slices,
                        slice_tiles, call.finish);
  });
}

template <class P, class R> static Status launch(const Call<R>& call) {
  using S = ShapeOf<P>;
  const ReducePlan& plan = call.args.plan;
  const std::int64_t slice_tiles = tiling_of(call).slice_tiles(plan.extent.cols, plan.slices);
  if constexpr (P::config.last_block)
    if (plan.slices > 1) return launch_last_block<S>(call, slice_tiles);
  const Status first = simt::with_warp(plan.device.warp, [&](auto width) {
    return simt::launch(launch_config(call, plan.slices), reduce_slices<S, R, decltype(width)::value>, call.in, call.y,
                        call.partials, plan.slices, slice_tiles, call.finish);
  });
  RIDGE_TRY(first);
  return plan.slices > 1 ? launch_finish(call) : Status{};
}

}  // namespace slices
}  // namespace ridge::reduce_detail
