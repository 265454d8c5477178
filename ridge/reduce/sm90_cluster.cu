// One row to a cluster of Hopper's blocks.
#include <ridge/reduce/launch.cuh>
#include <ridge/reduce/sm90_cluster.cuh>
#include <ridge/reduce/two_float.cuh>
#include <ridge/tile/sm90/overlap.cuh>

namespace ridge::reduce_detail {
namespace {

template <class R> Status launch(const Arguments& args) {
  using T = typename R::Element;
  constexpr Config c = config_of(cluster_variant, function_of<R>);
  using S = Shape<c.threads, 0, 0, c.vectors, c.blocks_per_sm>;
  const ReducePlan& plan = args.plan;
  const Input<T> in{static_cast<const T*>(args.x), static_cast<const T*>(args.z), plan.extent.rows, plan.extent.cols,
                    plan.axes};
  return tile::sm90::launch_overlapping_clusters(
      {.grid = dim3(cluster_blocks), .block = dim3(c.threads), .stream = args.stream.handle}, cluster_blocks,
      reduce_cluster<S, R>, in, static_cast<typename R::Output*>(args.y),
      Finish{plan.problem.function == Reduce::mean, 1, 1});
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
