// Launches of the portable rows of the forward pass.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/parts_launch.cuh>
#include <ridge/attention/register_tile.cuh>
#include <ridge/attention/textbook.cuh>

namespace ridge::attention_detail {
namespace {

template <class T, int Warp> struct PortableRows {
  static constexpr bool has(const Variant& row) {
    return is_portable(row.config) && has_forward(row.config) && is_instantiated(row, dtype_of<T>);
  }
  template <int I> static Status launch(const Call& call) {
    constexpr Config c = variants[I].config;
    const simt::Config at = grid_of(c, call, call.plan.blocks);
    const Arguments<T> args = arguments_of<T>(call);
    if constexpr (c.family == Family::naive) {
      return simt::launch(at, attention_naive<Row<I>, T, Warp>, args);
    } else if constexpr (c.family == Family::tiled) {
      RIDGE_TRY(simt::launch(at, attention_tiled<Row<I>, T, Warp>, args));
      if constexpr (c.split) return launch_parts<T>(call, args);
      else return {};
    } else {
      static_assert(c.family == Family::register_tile);
      return simt::launch(at, attention_register_tile<Row<I>>, args);
    }
  }
};

template <class T> Status launch_portable(const Call& call) {
  return simt::with_warp(call.plan.device.warp,
                         [&](auto warp) { return launch_row<PortableRows<T, decltype(warp)::value>>(call); });
}

}  // namespace
}  // namespace ridge::attention_detail
