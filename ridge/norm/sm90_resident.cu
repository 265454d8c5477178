// Launches Algorithm::resident in clusters.
#include <ridge/core/table.hpp>
#include <ridge/norm/resident.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/row_cluster.cuh>

namespace ridge::norm_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int InRegisters, int InShared, int BlocksPerSm> struct ClusterPolicy {
  static constexpr Config config = {
      .threads = Threads, .in_registers = InRegisters, .in_shared = InShared, .blocks_per_sm = BlocksPerSm};
};

template <int I, class T> Status launch_row(const Call& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::resident || c.cluster == 1) {
    return no_kernel();  // launched elsewhere
  } else {
    static_assert(c.added && c.cluster <= tile::sm90::RowCluster::most);
    using P = ClusterPolicy<c.threads, c.in_registers, c.in_shared, c.blocks_per_sm>;
    return tile::sm90::launch_clusters(launch_config(call, 32), c.cluster,
                                       norm_resident<P, TeamOf<P, 32>, T, true, DistanceSums, tile::sm90::RowCluster>,
                                       forward_of<T>(call), DistanceSums{});
  }
}

}  // namespace

template <class T> Status launch_resident_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
}
template Status launch_resident_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
