// Instantiates the table of variants.hpp for one reduction R, and launches the variant that a plan chose.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/reduce/columns.cuh>
#include <ridge/reduce/rows.cuh>
#include <ridge/reduce/shifted.cuh>
#include <ridge/reduce/slices.cuh>
#include <ridge/reduce/spans.cuh>
#include <ridge/reduce/textbook.cuh>

namespace ridge::reduce_detail {

// For instantiations that the family's fits() refuses.
static Status no_kernel() { return Status::error(Code::unsupported, "reduce: this variant has no such kernel"); }

// F: the function whose variants are instantiated for R (sum also stands for mean).
template <int I, Reduce F, Accumulate A, class R> static Status launch_row(const Call<R>& call) {
  using P = Policy<I, function_of<R>>;
  constexpr Config c = P::config;
  constexpr Algorithm algorithm = c.algorithm;
  constexpr DType T = dtype_of<typename R::Element>;
  if constexpr (is_textbook(algorithm) && textbook::instantiated(c, F, T, A)) return textbook::launch<P>(call);
  else if constexpr (algorithm == Algorithm::slices && slices::instantiated(c, F, T, A)) return slices::launch<P>(call);
  else if constexpr (algorithm == Algorithm::rows && rows::instantiated(c, F, T)) return rows::launch<P>(call);
  else if constexpr (algorithm == Algorithm::spans && spans::instantiated(F)) return spans::launch<P>(call);
  else if constexpr (algorithm == Algorithm::columns && columns::instantiated(c, F, T)) return columns::launch<P>(call);
  else if constexpr (algorithm == Algorithm::shifted && shifted::instantiated(F, T, A)) return shifted::launch<P>(call);
  else if constexpr (algorithm == Algorithm::cluster && RIDGE_SIMT_ON_CUDA) return launch_cluster(call.args);
  else return no_kernel();
}

template <Reduce F, class R, Accumulate A = Accumulate::plain> static Status launch_table(const Arguments& args) {
  static_assert(sizeof(typename R::Partial) == partial_bytes(F, dtype_of<typename R::Element>, A));
  const Call<R> call = call_of<R>(args);
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I, F, A>(call); });
}

}  // namespace ridge::reduce_detail
