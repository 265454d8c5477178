// Instantiates the table of variants.hpp for one reduction R, and launches the row that a plan chose.
#pragma once
#include <ridge/reduce/columns.cuh>
#include <ridge/reduce/rows.cuh>
#include <ridge/reduce/shifted.cuh>
#include <ridge/reduce/slices.cuh>
#include <ridge/reduce/spans.cuh>
#include <ridge/reduce/textbook.cuh>

#include <utility>

namespace ridge::reduce_detail {

// Refused by the family's fits().
static Status no_kernel() { return Status::error(Code::unsupported, "reduce: this variant has no such kernel"); }

// F: the function whose rows are instantiated for R (sum stands for mean too).
template <int I, Reduce F, Accumulate A, class R> static Status launch_row(const Call<R>& call) {
  using P = Policy<I, function_of<R>>;
  constexpr Config c = P::config;
  constexpr Algorithm algorithm = c.algorithm;
  constexpr DType T = dtype_of<typename R::Element>;
  if constexpr (algorithm <= Algorithm::shuffle && textbook::instantiated(c, F, T, A)) return textbook::launch<P>(call);
  else if constexpr (algorithm == Algorithm::slices && slices::instantiated(c, F, T, A)) return slices::launch<P>(call);
  else if constexpr (algorithm == Algorithm::rows && rows::instantiated(c, F, T)) return rows::launch<P>(call);
  else if constexpr (algorithm == Algorithm::spans && spans::instantiated(F)) return spans::launch<P>(call);
  else if constexpr (algorithm == Algorithm::columns && columns::instantiated(c, F, T)) return columns::launch<P>(call);
  else if constexpr (algorithm == Algorithm::shifted && shifted::instantiated(F, T, A)) return shifted::launch<P>(call);
  else if constexpr (algorithm == Algorithm::cluster && RIDGE_SIMT_ON_CUDA) return launch_cluster(call.args);
  else return no_kernel();
}

template <Reduce F, Accumulate A, class R, int... I>
static Status launch_variant(const Call<R>& call, std::integer_sequence<int, I...>) {
  static_assert(sizeof(typename R::Partial) == partial_bytes(F, dtype_of<typename R::Element>, A));
  static constexpr Status (*launchers[])(const Call<R>&) = {launch_row<I, F, A, R>...};
  return launchers[call.args.plan.variant](call);
}

template <Reduce F, class R, Accumulate A = Accumulate::plain> static Status launch_table(const Arguments& args) {
  return launch_variant<F, A>(call_of<R>(args), std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::reduce_detail
