// Launches the row of the table that a plan chose, for one reduction R. Everything here is internal to its unit: the
// same text is compiled by g++ and by nvcc, and the two must not be merged by the linker.
#pragma once
#include <ridge/reduce/columns.cuh>
#include <ridge/reduce/launch.hpp>
#include <ridge/reduce/shifted.cuh>
#include <ridge/reduce/slices.cuh>
#include <ridge/reduce/spans.cuh>
#include <ridge/reduce/textbook.cuh>

#include <bit>
#include <utility>

namespace ridge::reduce_detail {
namespace {

// One of the functions that R computes, for what its rows of the table are: config_of().
template <class R>
inline constexpr Reduce function_of = R::inputs == 2 ? Reduce::dot
                                      : R::locates   ? Reduce::argmax
                                                     : Reduce::sum;

template <class R> struct Call {
  const Arguments& args;
  Input<typename R::Element> in;
  typename R::Output* y;
  typename R::Partial* partials;
  Finish finish;

  Config row() const { return config_of(args.plan.variant, args.plan.problem.function); }
  Grid grid() const { return grid_of(row(), args.plan.extent, args.plan.slices, sizeof(typename R::Element)); }
  simt::Config config(Grid grid, int threads, std::size_t smem = 0) const {
    return {.grid = dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y)),
            .block = dim3(static_cast<unsigned>(threads)),
            .smem = smem,
            .stream = args.stream.handle,
            .warp = args.plan.device.warp};
  }
};

// Passes, until each row has one result.
template <class R> Status launch_finish(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  return simt::with_warp(plan.device.warp, [&](auto width) -> Status {
    typename R::Partial* from = call.partials;
    for (std::int64_t count = plan.slices;;) {
      const std::int64_t chunks = ceil_div(count, finish_chunk(count));
      const Grid grid{std::min(plan.extent.rows, max_grid), std::min(chunks, max_grid_y)};
      typename R::Partial* to = from + plan.extent.rows * count;
      RIDGE_TRY(simt::launch(call.config(grid, finish_block(count)), reduce_partials<R, decltype(width)::value>,
                             call.in, call.y, from, to, count, finish_chunk(count), chunks, call.finish));
      if (chunks == 1) return {};
      from = to;
      count = chunks;
    }
  });
}

// R of a row of the table that reads one element per thread. AtomicR: what R is by atomics.
template <class AtomicR, class R> Status launch_atomic(const Call<R>& call) {
  RIDGE_TRY(simt::launch(call.config({1}, 1), reduce_set<AtomicR>, call.y));
  return simt::launch(call.config(call.grid(), variants[call.args.plan.variant].config.threads), reduce_atomic<AtomicR>,
                      call.in.x, call.y, call.in.cols);
}

template <class S, class R> Status launch_slices(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  const Status first = simt::with_warp(plan.device.warp, [&](auto width) {
    return simt::launch(call.config(call.grid(), S::threads), reduce_slices<S, R, decltype(width)::value>, call.in,
                        call.y, call.partials, plan.slices,
                        slice_tiles(call.row(), plan.extent, plan.slices, sizeof(typename R::Element)), call.finish);
  });
  RIDGE_TRY(first);
  return plan.slices > 1 ? launch_finish(call) : Status{};
}

template <class S, class R> Status launch_last_block(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  if (plan.slices == 1) return launch_slices<S>(call);
  return simt::with_warp(plan.device.warp, [&](auto width) {
    return simt::launch(call.config(call.grid(), S::threads), reduce_last_block<S, R, decltype(width)::value>, call.in,
                        call.y, call.partials, static_cast<tile::Arrivals*>(call.args.workspace), tile::run_number(),
                        plan.slices, slice_tiles(call.row(), plan.extent, plan.slices, sizeof(typename R::Element)),
                        call.finish);
  });
}

template <class S, class R, bool Shifted> Status launch_columns(const Call<R>& call) {
  using Partial = typename R::Partial;
  constexpr int size = sizeof(typename R::Element), V = S::template elements<typename R::Element>;
  const ReducePlan& plan = call.args.plan;
  const Config c = call.row();
  const std::int64_t slice = slice_tiles(c, plan.extent, plan.slices, size) * tile_elements(c, plan.extent, size);
  if constexpr (Shifted) {
    const int lanes = shifted_lanes(plan.extent, V);
    RIDGE_TRY(simt::launch(call.config(call.grid(), S::threads, shifted_scratch<Partial, V>(S::threads, lanes)),
                           reduce_shifted<S, R>, call.in, call.y, call.partials, lanes, slice, plan.slices,
                           call.finish));
  } else {
    RIDGE_TRY(simt::launch(call.config(call.grid(), S::threads, tile::column_scratch<Partial, V>(S::threads)),
                           reduce_columns<S, R>, call.in, call.y, call.partials, columns_of(c, plan.extent, size),
                           slice, plan.slices, call.finish));
  }
  if (plan.slices == 1) return {};
  const tile::ColumnBlock k = finish_columns(plan.extent.rows, plan.slices);
  const std::int64_t blocks = std::min(ceil_div(plan.extent.rows, std::int64_t{k.lanes} * k.groups), max_grid);
  const simt::Config at =
      call.config({blocks}, column_finish.threads, tile::column_scratch<Partial, 1>(column_finish.threads));
  const auto finish = reduce_column_partials<R>;
  if (plan.device.cc == 90)
    return tile::launch_overlapping(at, finish, call.in, call.y, call.partials, plan.slices, k, call.finish);
  return simt::launch(at, finish, call.in, call.y, call.partials, plan.slices, k, call.finish);
}

template <Kernel K, int Threads, class R> Status launch_tree(const Call<R>& call) {
  const ReducePlan& plan = call.args.plan;
  const simt::Config at = call.config(call.grid(), Threads);
  if constexpr (K == Kernel::tree_interleaved) {
    RIDGE_TRY(simt::launch(at, reduce_interleaved<R, Threads>, call.in.x, call.partials, call.in.cols));
  } else if constexpr (K == Kernel::tree_sequential) {
    RIDGE_TRY(simt::launch(at, reduce_sequential<R, Threads>, call.in.x, call.partials, call.in.cols));
  } else {
    const Status first = simt::with_warp(plan.device.warp, [&](auto width) {
      return simt::launch(at, reduce_shuffle<R, Threads, decltype(width)::value>, call.in.x, call.partials,
                          call.in.cols);
    });
    RIDGE_TRY(first);
  }
  return launch_finish(call);
}

template <int I, class R> Status launch_row(const Call<R>& call) {
  constexpr Config c = config_of(I, function_of<R>);
  using S = Shape<c.threads, c.lanes, c.access_bytes, c.vectors, c.blocks_per_sm>;
  if constexpr (c.last_block) {
    return launch_last_block<S>(call);
  } else if constexpr (c.kernel == Kernel::slices) {
    return launch_slices<S>(call);
  } else if constexpr (has_columns(c)) {
    return launch_columns<S, R, c.kernel == Kernel::shifted>(call);
  } else if constexpr (c.kernel == Kernel::rows) {
    return simt::launch(call.config(call.grid(), c.threads), reduce_rows<S, R>, call.in, call.y, call.finish);
  } else if constexpr (c.kernel == Kernel::spans) {
    const Extent& e = call.args.plan.extent;
    constexpr int size = sizeof(typename R::Element);
    const int rows = span_rows(c, e, size);
    const auto smem = static_cast<std::size_t>(tile::span_room(rows, static_cast<int>(e.cols), size));
    return simt::launch(call.config(call.grid(), c.threads, smem), reduce_spans<S, R>, call.in, call.y, rows,
                        std::countr_zero(static_cast<unsigned>(span_lanes(c, e, size))), call.finish);
  } else if constexpr (c.kernel == Kernel::atomic) {
    if constexpr (std::is_same_v<R, Sum<float>>) return launch_atomic<AtomicSum>(call);
    else if constexpr (std::is_same_v<R, Sum<std::int32_t>>) return launch_atomic<AtomicIntSum>(call);
    else return launch_atomic<AtomicIntExtremum<std::is_same_v<R, Extremum<true, std::int32_t>>>>(call);
  } else {
    return launch_tree<c.kernel, c.threads>(call);
  }
}

// F: the function whose rows are instantiated for R (sum stands for mean too).
template <Reduce F, class R, Accumulate A, int I> constexpr auto launcher() -> Status (*)(const Call<R>&) {
  constexpr Config c = variants[I].config;
  if constexpr (c.kernel == Kernel::cluster) return nullptr;  // launch_cluster()
  else if constexpr (instantiated(c, F, dtype_of<typename R::Element>, A)) return launch_row<I, R>;
  else return nullptr;  // refused by fits()
}

template <Reduce F, class R, Accumulate A, int... I>
Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  using T = typename R::Element;
  static_assert(sizeof(typename R::Partial) == partial_bytes(F, dtype_of<T>, A));
  static constexpr Status (*launchers[])(const Call<R>&) = {launcher<F, R, A, I>()...};
  const ReducePlan& plan = args.plan;
  const Config c = config_of(plan.variant, F);
  return launchers[plan.variant](
      {args,
       {static_cast<const T*>(args.x), static_cast<const T*>(args.z), plan.extent.rows, plan.extent.cols, plan.axes},
       static_cast<typename R::Output*>(args.y),
       reinterpret_cast<typename R::Partial*>(static_cast<char*>(args.workspace) + arrival_bytes(c, plan.slices)),
       {plan.problem.function == Reduce::mean, access_elements(c, sizeof(T)),
        tile_elements(c, plan.extent, sizeof(T))}});
}

template <Reduce F, class R, Accumulate A = Accumulate::plain> Status launch_table(const Arguments& args) {
  return launch_variant<F, R, A>(args, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::reduce_detail
