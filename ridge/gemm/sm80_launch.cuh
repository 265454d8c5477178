// Launches the row of Family::mma_sync, Family::mma_stream, Family::mma_direct or Family::wmma that a plan chose.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.cuh>
#include <ridge/gemm/sm80_direct.cuh>
#include <ridge/gemm/sm80_mma.cuh>
#include <ridge/gemm/sm80_stream.cuh>
#include <ridge/gemm/sm80_wmma.cuh>

namespace ridge::gemm_detail {
namespace {

// X: the type in which the epilogue computes.
template <int I, class T, class X> Status launch_mma_row(const Arguments& args, const StandardEpilogue<X>& epilogue) {
  const GemmProblem& p = args.problem;
  const auto launch = [&]<Major MA, Major MB>() {
    return launch_mma_sync<Policy<I>, T, MA, MB>(operand_a<T>(args), operands_b<I, T>(args), shape_of(args), epilogue,
                                                 args.stream, offsets_of(args));
  };
  constexpr Major k = Major::k, outer = Major::outer;
  const Major ma = major_of_a(p), mb = major_of_b(p);
  if constexpr (mma_reads_along_k(dtype_of<T>)) {
    if (ma == k && mb == k) return launch.template operator()<k, k>();
  } else {
    if (ma == k) return mb == outer ? launch.template operator()<k, outer>() : launch.template operator()<k, k>();
    if constexpr (!a_is_k_major(variants[I].config))
      return mb == outer ? launch.template operator()<outer, outer>() : launch.template operator()<outer, k>();
  }
  return Status::error(Code::unsupported, "gemm: this variant takes other layouts");  // refused by fits()
}

template <int I, class T> Status launch_wmma_row(const Arguments& args, const StandardEpilogue<float>& epilogue) {
  const GemmProblem& p = args.problem;
  const Shape shape{p.m, p.n, products(p), p.batch};
  constexpr Config c = Policy<I>::config;
  return simt::launch(grid_of(tiles_of(c, shape), wmma_threads(c), wmma_smem_bytes(c), c, shape, args.stream, 32),
                      gemm_wmma<Policy<I>, T, StandardEpilogue<float>>, operand_a<T>(args), operand_b<T>(args), shape,
                      epilogue);
}

template <class T, class X = Accumulator<T>> Status launch_mma_table(const Arguments& args) {
  return launch_in_slices<X>(args, [&](const StandardEpilogue<X>& epilogue) {
    return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
      constexpr bool is_compiled = variants[I].types.contains(dtype_of<T>);
      if constexpr (variants[I].config.family == Family::mma_sync && is_compiled)
        return launch_mma_row<I, T, X>(args, epilogue);
      else if constexpr (variants[I].config.family == Family::mma_stream && is_compiled)
        return launch_mma_stream<Policy<I>, T>(operand_a<T>(args), operand_b<T>(args), shape_of(args), epilogue,
                                               args.plan.tiles, args.stream);
      else if constexpr (variants[I].config.family == Family::mma_direct && is_compiled)
        return launch_mma_direct<Policy<I>, T>(operand_a<T>(args), operand_b<T>(args), shape_of(args), epilogue,
                                               args.plan.device.cc, args.stream);
      else if constexpr (variants[I].config.family == Family::wmma && is_compiled)
        return launch_wmma_row<I, T>(args, epilogue);
      else return no_kernel();
    });
  });
}

}  // namespace
}  // namespace ridge::gemm_detail
