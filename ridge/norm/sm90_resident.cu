// Launches Method::resident in clusters.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/resident.cuh>
#include <ridge/tile/row_lanes.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/row_cluster.cuh>

#include <utility>

namespace ridge::norm_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
template <int Threads, int InRegisters, int InShared, int BlocksPerSm> struct ClusterKernel {
  static constexpr Config config = {
      .threads = Threads, .in_registers = InRegisters, .in_shared = InShared, .blocks_per_sm = BlocksPerSm};
};

template <int I, class T> Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (c.method != Method::resident || c.cluster == 1) {
    return Status::error(Code::unsupported, "norm: this variant is launched elsewhere");
  } else {
    static_assert(c.added && c.cluster <= tile::sm90::RowCluster::most);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(smem_bytes(c, Use::added)),
                          .stream = args.stream.handle};
    using Kernel = ClusterKernel<c.threads, c.in_registers, c.in_shared, c.blocks_per_sm>;
    using Team = tile::BlockRows<c.threads, 1, 32>;
    return tile::sm90::launch_clusters(at, c.cluster,
                                       norm_resident<Kernel, Team, T, true, DistanceSums, tile::sm90::RowCluster>,
                                       forward_of<T>(args), DistanceSums{});
  }
}

template <class T, int... I> Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

}  // namespace

template <class T> Status launch_resident_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  return launch_variant<T>({plan, operands, {}, stream}, std::make_integer_sequence<int, variant_count>{});
}
template Status launch_resident_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_resident_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
