// Instantiates the table of variants.hpp for a type, and launches the row that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/pool/adaptive.cuh>
#include <ridge/pool/channels.cuh>
#include <ridge/pool/column.cuh>
#include <ridge/pool/global_channels.cuh>
#include <ridge/pool/global_planes.cuh>
#include <ridge/pool/launch.hpp>
#include <ridge/pool/naive.cuh>
#include <ridge/pool/shared.cuh>
#include <ridge/pool/tile.cuh>

namespace ridge::pool_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

// For instantiations that the family's fits() refuses.
static Status no_kernel() { return Status::error(Code::unsupported, "pool: this variant has no such function"); }

// Of windows at a stride.
template <int I, class F, class T> static Status launch_row(const Call<T>& call) {
  using R = Policy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm == Algorithm::naive) return naive::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::shared) return shared::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::column) return column::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::tile && !F::clips) return tiled::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::channels) return channels::launch<R, F>(call);
  else return no_kernel();
}

// Of adaptive pooling's own families.
template <int I, class T> static Status launch_adaptive(const Call<T>& call) {
  using R = Policy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm == Algorithm::adaptive) return adaptive::launch<R>(call);
  else if constexpr (algorithm == Algorithm::global_planes) return global_planes::launch<R>(call);
  else if constexpr (algorithm == Algorithm::global_channels) return global_channels::launch<R>(call);
  else return launch_row<I, Mean>(call);
}

template <class T> static Status launch_table(const Arguments& args) {
  const Call<T> call{args.plan, static_cast<const T*>(args.x), static_cast<T*>(args.y), args.stream};
  const PoolProblem& p = call.plan.problem;
  return visit_row<variant_count>(call.plan.variant, [&]<int I>() {
    if (p.function == Pool::max) return launch_row<I, Max>(call);
    if (p.function == Pool::adaptive_avg) return launch_adaptive<I>(call);
    return clips(p) ? launch_row<I, ClippedMean>(call) : launch_row<I, Mean>(call);
  });
}

}  // namespace ridge::pool_detail
