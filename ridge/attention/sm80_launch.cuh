// Launches of the rows of Family::mma_sync.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/parts_launch.cuh>
#include <ridge/attention/sm80_mma.cuh>

namespace ridge::attention_detail {
namespace {

template <class T> struct MmaRows : RowsOf<Family::mma_sync, T> {
  template <int I> static Status launch(const Call& call) {
    const Arguments<T> args = arguments_of<T>(call);
    const simt::Config at = grid_of(variants[I].config, call, call.plan.blocks);
    RIDGE_TRY(has_lengths(call.problem) ? simt::launch(at, attention_mma<Row<I>, T, true>, args)
                                        : simt::launch(at, attention_mma<Row<I>, T, false>, args));
    return launch_parts<T>(call, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
