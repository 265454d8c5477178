// Launches the portable row of the table that a plan chose, for operands of type T. Everything here is internal to its
// translation unit: g++ and nvcc compile the same text, and the linker must not merge the two.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/gemm/grouped.cuh>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.cuh>
#include <ridge/gemm/textbook.cuh>
#include <ridge/gemm/thread_tile.cuh>

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

// Families on every backend; the others are compiled by nvcc alone.
constexpr bool is_portable(const Config& c) {
  return c.family == Family::naive || c.family == Family::shared || c.family == Family::thread_tile;
}

template <int I, class T, class Epilogue> Status launch_row(const Call<T, Epilogue>& call) {
  constexpr Config c = variants[I].config;
  OperandB<Policy<I>, T> b;
  if constexpr (c.gated) b = {call.b, call.gate};
  else b = call.b;
  const auto tiled = [&]<Major MA, Major MB>() {
    if constexpr (variants[I].config.grouped)
      return launch_grouped<Policy<I>, T, MA, MB>(call.a, b, call.offsets, call.shape, call.epilogue, call.stream,
                                                  call.warp);
    else return launch_thread_tile<Policy<I>, T, MA, MB>(call.a, b, call.shape, call.epilogue, call.stream, call.warp);
  };
  constexpr Major none = Major::none, k = Major::k, outer = Major::outer;
  if constexpr (c.family == Family::naive) {
    const simt::Config at =
        grid_of(naive_tiles(c, call.shape), textbook_threads(c), 0, c, call.shape, call.stream, call.warp);
    return simt::launch(at, gemm_naive<Policy<I>, T, Epilogue>, call.a, b, call.shape, call.epilogue);
  } else if constexpr (c.family == Family::shared) {
    const simt::Config at = grid_of(tiles_of(c, call.shape), textbook_threads(c), shared_smem_bytes(c, dtype_of<T>), c,
                                    call.shape, call.stream, call.warp);
    return simt::launch(at, gemm_shared<Policy<I>, T, Epilogue>, call.a, b, call.shape, call.epilogue);
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

// X: the type in which the epilogue computes.
template <class T, class X> Status launch_table(const Arguments& args) {
  return launch_in_slices<X>(args, [&](const StandardEpilogue<X>& epilogue) {
    const GemmProblem& p = args.problem;
    const Call<T, StandardEpilogue<X>> call{
        shape_of(args), operand_a<T>(args), operand_b<T>(args), operand_gate<T>(args), offsets_of(args),
        epilogue,       major_of_a(p),      major_of_b(p),      args.stream,           args.plan.device.warp};
    return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
      if constexpr (variants[I].types.contains(dtype_of<T>) && is_portable(variants[I].config))
        return launch_row<I, T>(call);
      else return no_kernel();
    });
  });
}

}  // namespace
}  // namespace ridge::gemm_detail
