// Launches Algorithm::fused in clusters.
#include <ridge/core/table.hpp>
#include <ridge/norm/sm90_fused.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int InRegisters> struct ClusterPolicy {
  static constexpr Config config = {.algorithm = Algorithm::fused, .threads = Threads, .in_registers = InRegisters};
};

template <int I, class T> Status launch_row(const Call& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::fused || c.cluster == 1) {
    return no_kernel();  // launched elsewhere
  } else {
    static_assert(c.rows == 1 && c.cluster <= ClusterBlocks::most);
    const NormPlan& plan = call.plan;
    using P = ClusterPolicy<c.threads, c.in_registers>;
    return tile::sm90::launch_clusters(launch_config(call, 32), c.cluster, norm_fused_gradient<P, 32, T, ClusterBlocks>,
                                       backward_of<T>(call), sums_output<T>(call),
                                       fused::shape_of(c, plan.problem, plan.device.smem_optin, plan.grid));
  }
}

}  // namespace

template <class T> Status launch_fused_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
}
template Status launch_fused_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
