// Launches Algorithm::resident in clusters.
#include <ridge/core/table.hpp>
#include <ridge/softmax/resident.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/row_cluster.cuh>

namespace ridge::softmax_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int InRegisters, int InShared, int BlocksPerSm> struct ClusterPolicy {
  static constexpr Config config = {
      .threads = Threads, .in_registers = InRegisters, .in_shared = InShared, .blocks_per_sm = BlocksPerSm};
};

template <int I, class T> Status launch_row(const Forward<T>& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::resident || c.cluster == 1) {
    return Status::error(Code::unsupported, "softmax: this variant is launched elsewhere");
  } else {
    static_assert(c.cluster <= tile::sm90::RowCluster::most);
    const SoftmaxProblem& p = call.plan.problem;
    using P = ClusterPolicy<c.threads, c.in_registers, c.in_shared, c.blocks_per_sm>;
    return tile::sm90::launch_clusters(
        launch_config(call, 32), c.cluster, softmax_resident<P, T, 32, tile::sm90::RowCluster>, call.x, call.y, p.rows,
        p.cols, p.x->pitch(), p.y->pitch(), resident::prefetch_distance(c, p, call.plan.device), p.log);
  }
}

}  // namespace

Status launch_clusters(const SoftmaxPlan& plan, const void* x, void* y, Stream stream) {
  using InClusters = TypeList<float, half, bfloat16>;
  return InClusters::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    const Forward<T> call{plan, static_cast<const T*>(x), static_cast<T*>(y), nullptr, stream};
    return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
  });
}

}  // namespace ridge::softmax_detail
