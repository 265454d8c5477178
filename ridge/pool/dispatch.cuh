// Instantiates the table of variants.hpp for a type, and launches the row that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/pool/channels.cuh>
#include <ridge/pool/column.cuh>
#include <ridge/pool/launch.hpp>
#include <ridge/pool/naive.cuh>
#include <ridge/pool/shared.cuh>
#include <ridge/pool/tile.cuh>

namespace ridge::pool_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class F, class T> static Status launch_row(const Call<T>& call) {
  using R = Policy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm == Algorithm::naive) return naive::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::shared) return shared::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::column) return column::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::tile) return tiled::launch<R, F>(call);
  else return channels::launch<R, F>(call);
}

template <class T> static Status launch_table(const Arguments& args) {
  const Call<T> call{args.plan, static_cast<const T*>(args.x), static_cast<T*>(args.y), args.stream};
  return visit_row<variant_count>(call.plan.variant, [&]<int I>() {
    return call.plan.problem.function == Pool::max ? launch_row<I, Max>(call) : launch_row<I, Mean>(call);
  });
}

}  // namespace ridge::pool_detail
