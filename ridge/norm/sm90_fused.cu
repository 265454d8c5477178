// Launches Method::fused in clusters.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/sm90_fused.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

constexpr Config of_clusters(const Config& c) {
  Config one = c;
  one.cluster = 1;
  return one;
}
// The kernel is the same for every size of clusters.
struct FusedClusters {
  static constexpr Config config = {.method = Method::fused, .threads = 448, .in_registers = 4};
};
constexpr bool one_kernel_for_all() {
  for (const Variant& row : variants)
    if (row.config.method == Method::fused && row.config.cluster > 1 &&
        (of_clusters(row.config) != FusedClusters::config || row.config.cluster > ClusterBlocks::most))
      return false;
  return true;
}
static_assert(one_kernel_for_all());

}  // namespace

template <class T> Status launch_fused_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Config& c = variants[plan.variant].config;
  const FusedRows shape = fused_rows(c, plan.problem, plan.device.smem_optin);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(shape.smem),
                        .stream = stream.handle};
  SumsPlan sums;
  sums.fused = true;
  return tile::sm90::launch_clusters(at, c.cluster, norm_fused_gradient<FusedClusters, 32, T, ClusterBlocks>,
                                     backward_of<T>({plan, operands, sums, stream}),
                                     static_cast<float*>(operands.workspace), shape);
}
template Status launch_fused_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
