// Launches Algorithm::resident in clusters.
#include <ridge/norm/resident.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/row_cluster.cuh>

#include <utility>

namespace ridge::norm_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
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

template <class T, int... I> Status launch_variant(const Call& call, std::integer_sequence<int, I...>) {
  Status status;
  ((call.plan.variant == I ? void(status = launch_row<I, T>(call)) : void()), ...);
  return status;
}

}  // namespace

template <class T> Status launch_resident_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  return launch_variant<T>(call_of(plan, operands, stream), std::make_integer_sequence<int, variant_count>{});
}
template Status launch_resident_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
