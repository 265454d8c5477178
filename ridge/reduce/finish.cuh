// From partial results to results.
#pragma once
#include <ridge/reduce/finish.hpp>
#include <ridge/reduce/launch.cuh>
#include <ridge/tile/block_reduce.cuh>

namespace ridge::reduce_detail {

template <class R> struct Combine {
  using Partial = typename R::Partial;
  __device__ __forceinline__ Partial operator()(Partial a, Partial b) const { return R::combine(a, b); }
};

struct Least {
  __device__ __forceinline__ std::int64_t operator()(std::int64_t a, std::int64_t b) const { return b < a ? b : a; }
};

// The index of the first element of a tile that is the extreme. All of the group's threads call.
// Precondition: rows are contiguous.
template <class R, class Group>
__device__ std::int64_t locate(const Input<typename R::Element>& in, std::int64_t row, typename R::Partial place,
                               const Finish& finish, const Group& group) {
  using T = typename R::Element;
  const T* x = in.x + row_offset(in.axes, in.axes.x, row);
  // Tiles are counted from the last whole access at or before the row's start.
  const auto shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) / sizeof(T) %
                                               static_cast<unsigned>(finish.access_elements));
  const std::int64_t begin = place.tile * finish.tile_elements - shift, end = begin + finish.tile_elements;
  std::int64_t found = none_yet;
  for (std::int64_t i = ::max(begin, std::int64_t{0}) + group.rank(); i < ::min(end, in.cols); i += group.size())
    if (R::is_result(x[i], place.value)) found = ::min(found, i);
  return group.reduce(found, Least());
}

// Writes y[row] from its only partial result. All of the group's threads call, with the same arguments; if groups call
// together, a group without a row passes another group's row and writes nothing.
template <class R, class Group>
__device__ __forceinline__ void write_result(const Input<typename R::Element>& in, typename R::Output* y,
                                             std::int64_t row, typename R::Partial partial, const Finish& finish,
                                             const Group& group, bool writes = true) {
  typename R::Output result;
  if constexpr (R::locates) result = locate<R>(in, row, partial, finish, group);
  else result = R::output(partial, in.cols, finish);
  if (writes && group.rank() == 0) y[row_offset(in.axes, in.axes.y, row)] = result;
}

// One pass: to[r][c] = R over chunk c of from[r]; if there is one chunk, y[r]
//   from: [rows, count]  to: [rows, chunks]  y: [rows]
template <class R, int Warp>
__global__ void __launch_bounds__(finish_threads, 1)
    reduce_partials(Input<typename R::Element> in, typename R::Output* y, const typename R::Partial* from,
                    typename R::Partial* to, std::int64_t count, std::int64_t chunk_size, std::int64_t chunks,
                    Finish finish) {
  const tile::any_block<Warp> block;
  for (std::int64_t row = blockIdx.x; row < in.rows; row += gridDim.x)
    for (std::int64_t chunk = blockIdx.y; chunk < chunks; chunk += gridDim.y) {
      const std::int64_t end = ::min((chunk + 1) * chunk_size, count);
      const typename R::Partial* of_row = from + row * count;
      auto partial = R::identity();
      constexpr int U = finish_vectors;
      for (std::int64_t i = chunk * chunk_size + block.rank(); i < end; i += U * block.size()) {
        typename R::Partial p[U];
        RIDGE_UNROLL_ON_GPU
        for (int u = 0; u < U; ++u) p[u] = i + u * block.size() < end ? of_row[i + u * block.size()] : R::identity();
        RIDGE_UNROLL_ON_GPU
        for (int u = 0; u < U; ++u) partial = R::combine(partial, p[u]);
      }
      partial = block.reduce(partial, Combine<R>());
      if (chunks == 1) write_result<R>(in, y, row, partial, finish, block);
      else if (block.rank() == 0) to[row * chunks + chunk] = partial;
    }
}

// Launches passes of the finish, until each row has one result.
template <class R> static Status launch_finish(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  return simt::with_warp(plan.device.warp, [&](auto width) -> Status {
    typename R::Partial* from = call.partials;
    for (std::int64_t count = plan.slices;;) {
      const std::int64_t chunks = ceil_div(count, finish_chunk(count));
      const simt::Config at =
          launch_config(call, std::min(plan.extent.rows, max_grid), std::min(chunks, max_grid_y), finish_block(count));
      typename R::Partial* to = from + plan.extent.rows * count;
      RIDGE_TRY(simt::launch(at, reduce_partials<R, decltype(width)::value>, call.in, call.y, from, to, count,
                             finish_chunk(count), chunks, call.finish));
      if (chunks == 1) return {};
      from = to;
      count = chunks;
    }
  });
}

}  // namespace ridge::reduce_detail
