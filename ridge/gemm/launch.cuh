// Launches the portable row of the table that a plan chose, for operands of type T. Everything here is internal to its
// unit: the same text is compiled by g++ and by nvcc, and the two must not be merged by the linker.
#pragma once
#include <ridge/gemm/grouped.cuh>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.cuh>
#include <ridge/gemm/textbook.cuh>
#include <ridge/gemm/thread_tile.cuh>

#include <utility>

namespace ridge::gemm_detail {
namespace {

template <class T, class Epilogue> struct Call {
  Shape shape;
  Operand<T> a, b, gate;
  const std::int32_t* offsets;  // of groups
  Epilogue epilogue;
  Major major_a, major_b;
  Stream stream;
  int warp;
};

template <int I, class T, class Epilogue> Status launch_row(const Call<T, Epilogue>& call) {
  constexpr Config c = variants[I].config;
  const simt::Config at = grid_of(c, dtype_of<T>, call.shape, call.stream, call.warp);
  OperandB<Row<I>, T> b;
  if constexpr (c.gated) b = {call.b, call.gate};
  else b = call.b;
  const auto tiled = [&]<Major MA, Major MB>() {
    if constexpr (variants[I].config.grouped)
      return launch_grouped<Row<I>, T, MA, MB>(call.a, b, call.offsets, call.shape, call.epilogue, call.stream,
                                               call.warp);
    else return launch_thread_tile<Row<I>, T, MA, MB>(call.a, b, call.shape, call.epilogue, call.stream, call.warp);
  };
  constexpr Major none = Major::none, k = Major::k, outer = Major::outer;
  if constexpr (c.family == Family::naive) {
    return simt::launch(at, gemm_naive<Row<I>, T, Epilogue>, call.a, b, call.shape, call.epilogue);
  } else if constexpr (c.family == Family::shared) {
    return simt::launch(at, gemm_shared<Row<I>, T, Epilogue>, call.a, b, call.shape, call.epilogue);
  } else if constexpr (c.loads == Loads::strided) {
    return tiled.template operator()<none, none>();
  } else {
    if (call.major_a == k && call.major_b == outer) return tiled.template operator()<k, outer>();  // nn
    if constexpr (!variants[I].nn_only)
      if (call.major_a == k) return tiled.template operator()<k, k>();  // nt
    if constexpr (!variants[I].nn_only && !a_is_k_major(c)) {
      if (call.major_b == outer) return tiled.template operator()<outer, outer>();  // tn
      return tiled.template operator()<outer, k>();                                 // tt
    }
    return Status::error(Code::unsupported, "gemm: this variant takes other layouts");  // refused by fits()
  }
}

template <class T, class Epilogue, int I> constexpr auto launcher() -> Status (*)(const Call<T, Epilogue>&) {
  if constexpr (variants[I].types.contains(dtype_of<T>) && is_portable(variants[I].config))
    return launch_row<I, T, Epilogue>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, class Epilogue, int... I>
Status launch_variant(const Arguments& args, const Epilogue& epilogue, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call<T, Epilogue>&) = {launcher<T, Epilogue, I>()...};
  const GemmPlan& plan = args.plan;
  const GemmProblem& p = args.problem;
  return launchers[plan.variant]({shape_of(args), operand_a<T>(args), operand_b<T>(args), operand_gate<T>(args),
                                  offsets_of(args), epilogue, major_of_a(p), major_of_b(p), args.stream,
                                  plan.device.warp});
}

// X: what the epilogue computes in.
template <class T, class X> Status launch_table(const Arguments& args) {
  return launch_in_slices<X>(args, [&](const StandardEpilogue<X>& epilogue) {
    return launch_variant<T>(args, epilogue, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace
}  // namespace ridge::gemm_detail
