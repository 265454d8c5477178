// Launches Algorithm::cluster: a cluster of Hopper's blocks for a single row.
#include <ridge/core/table.hpp>
#include <ridge/reduce/sm90_cluster.cuh>
#include <ridge/reduce/two_float.cuh>
#include <ridge/tile/sm90/dependent_launch.cuh>

namespace ridge::reduce_detail {
namespace {

template <int I, class R> Status launch_row(const Call<R>& call) {
  using P = Policy<I, function_of<R>>;
  if constexpr (P::config.algorithm != Algorithm::cluster)
    return Status::error(Code::unsupported, "reduce: this variant is launched elsewhere");
  else
    return tile::sm90::launch_dependent_clusters(launch_config(call), cluster_blocks, reduce_cluster<ShapeOf<P>, R>,
                                                 call.in, call.y, call.finish);
}

template <class R> Status launch(const Arguments& args) {
  const Call<R> call = call_of<R>(args);
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I>(call); });
}

}  // namespace

Status launch_cluster(const Arguments& args) {
  const ReduceProblem& p = args.plan.problem;
  if (p.accumulate == Accumulate::two_float)
    return p.function == Reduce::dot ? launch<TwoFloatDot>(args) : launch<TwoFloatSum>(args);
  if (p.function == Reduce::dot)
    return Types::visit(p.dtype, Status{}, [&]<class T>() { return launch<Dot<T>>(args); });
  return Types::visit(p.dtype, Status{}, [&]<class T>() {
    switch (p.function) {
      case Reduce::max: return launch<Extremum<true, T>>(args);
      case Reduce::min: return launch<Extremum<false, T>>(args);
      case Reduce::argmax: return launch<ArgExtremum<true, T>>(args);
      case Reduce::argmin: return launch<ArgExtremum<false, T>>(args);
      default:
        if constexpr (has_wide_mean<T>)
          if (p.function == Reduce::mean) return launch<WideMean<T>>(args);
        return launch<Sum<T>>(args);
    }
  });
}

}  // namespace ridge::reduce_detail
