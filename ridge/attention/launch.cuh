// Launches the portable row of the table that a plan chose. Everything here is internal to its unit: the same text is
// compiled by g++ and by nvcc, and the two must not be merged by the linker.
#pragma once
#include <ridge/attention/launch_arguments.cuh>
#include <ridge/attention/merge.cuh>
#include <ridge/attention/register_tile.cuh>
#include <ridge/attention/textbook.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

// Of parts of the keys that blocks attended to.
template <class T> Status launch_merge(const Call& call, const Arguments<T>& args, int warp) {
  const std::int64_t queries = call.problem.b * call.problem.hq * call.problem.sq;
  return simt::launch({.grid = dim3(static_cast<unsigned>(queries)),
                       .block = dim3(merge_threads),
                       .smem = 0,
                       .stream = call.stream.handle,
                       .warp = warp},
                      attention_merge_kernel<T, PartsInWorkspace>, merge_of(args));
}

template <int I, class T, int Warp> Status launch_row(const Call& call) {
  constexpr Config c = variants[I].config;
  const simt::Config at = grid_of(c, call, Warp);
  if constexpr (c.family == Family::naive) {
    return simt::launch(at, attention_naive<Row<I>, T, Warp>, arguments_of<T>(call));
  } else if constexpr (c.family == Family::tiled) {
    const Arguments<T> args = arguments_of<T>(call);
    RIDGE_TRY(simt::launch(at, attention_tiled<Row<I>, T, Warp>, args));
    if constexpr (!c.split) return {};
    else return args.splits == 1 ? Status() : launch_merge<T>(call, args, Warp);
  } else if constexpr (c.family == Family::register_tile) {
    return simt::launch(at, attention_register_tile<Row<I>>, arguments_of<T>(call));
  } else {
    return Status::error(Code::unsupported, "attention: this variant computes gradients");  // refused by fits()
  }
}

template <class T, int Warp, int I> constexpr auto launcher() -> Status (*)(const Call&) {
  constexpr bool instantiated = sizeof(T) == 4 ? variants[I].f32 : variants[I].f16;
  if constexpr (instantiated && is_portable(variants[I].config)) return launch_row<I, T, Warp>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, int Warp, int... I> Status launch_variant(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {launcher<T, Warp, I>()...};
  return launchers[call.plan.variant](call);
}

template <class T> Status launch_table(const Call& call) {
  return simt::with_warp(call.plan.device.warp, [&](auto warp) {
    return launch_variant<T, decltype(warp)::value>(call, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace
}  // namespace ridge::attention_detail
