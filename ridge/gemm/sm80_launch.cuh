// Launches the row of Family::mma_sync or Family::wmma that a plan chose.
#pragma once
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.cuh>
#include <ridge/gemm/sm80_mma.cuh>
#include <ridge/gemm/sm80_wmma.cuh>

#include <utility>

namespace ridge::gemm_detail {
namespace {

// X: what the epilogue computes in.
template <int I, class T, class X> Status launch_mma_row(const Arguments& args, const StandardEpilogue<X>& epilogue) {
  const GemmProblem& p = args.problem;
  const auto launch = [&]<Major MA, Major MB>() {
    return launch_mma_sync<Row<I>, T, MA, MB>(operand_a<T>(args), operands_b<I, T>(args), shape_of(args), epilogue,
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
  return simt::launch(grid_of(Row<I>::config, dtype_of<T>, shape, args.stream, 32),
                      gemm_wmma<Row<I>, T, StandardEpilogue<float>>, operand_a<T>(args), operand_b<T>(args), shape,
                      epilogue);
}

template <class T, class X, int I>
constexpr auto mma_launcher() -> Status (*)(const Arguments&, const StandardEpilogue<X>&) {
  if constexpr (variants[I].config.family == Family::mma_sync && variants[I].types.contains(dtype_of<T>))
    return launch_mma_row<I, T, X>;
  else if constexpr (variants[I].config.family == Family::wmma && variants[I].types.contains(dtype_of<T>))
    return launch_wmma_row<I, T>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, class X, int... I>
Status launch_mma_variant(const Arguments& args, const StandardEpilogue<X>& epilogue,
                          std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Arguments&, const StandardEpilogue<X>&) = {mma_launcher<T, X, I>()...};
  return launchers[args.plan.variant](args, epilogue);
}

template <class T, class X = Accumulator<T>> Status launch_mma_table(const Arguments& args) {
  return launch_in_slices<X>(args, [&](const StandardEpilogue<X>& epilogue) {
    return launch_mma_variant<T, X>(args, epilogue, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace
}  // namespace ridge::gemm_detail
