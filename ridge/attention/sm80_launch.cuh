// Launches the row of Family::mma_sync that a plan chose.
#pragma once
#include <ridge/attention/launch_arguments.cuh>
#include <ridge/attention/merge.cuh>
#include <ridge/attention/sm80_mma.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

template <int I, class T> Status launch_mma_row(const Call& call) {
  const Arguments<T> args = arguments_of<T>(call);
  const simt::Config grid = grid_of(variants[I].config, call, simt::native_warp);
  RIDGE_TRY(has_lengths(call.problem) ? simt::launch(grid, attention_mma<Row<I>, T, true>, args)
                                      : simt::launch(grid, attention_mma<Row<I>, T, false>, args));
  if (args.splits == 1) return {};
  const std::int64_t queries = call.problem.b * call.problem.hq * call.problem.sq;
  return simt::launch({.grid = dim3(static_cast<unsigned>(queries)),
                       .block = dim3(merge_threads),
                       .smem = 0,
                       .stream = call.stream.handle},
                      attention_merge_kernel<T, PartsInWorkspace>, merge_of(args));
}

template <class T, int I> constexpr auto mma_launcher() -> Status (*)(const Call&) {
  if constexpr (variants[I].config.family == Family::mma_sync) return launch_mma_row<I, T>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, int... I> Status launch_mma_table(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {mma_launcher<T, I>()...};
  return launchers[call.plan.variant](call);
}

}  // namespace
}  // namespace ridge::attention_detail
