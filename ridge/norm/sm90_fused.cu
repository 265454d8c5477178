// Launches Method::fused in clusters.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/sm90_fused.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
template <int Threads> struct FusedClusters {
  static constexpr Config config = {
      .method = Method::fused, .threads = Threads, .in_registers = Threads == 256 ? 7 : 4};
};
constexpr int few = 256, many = 512;  // threads
constexpr bool known_kernels() {
  for (const Variant& row : variants) {
    Config one = row.config;
    if (one.method != Method::fused || one.cluster == 1 || has_roles(one)) continue;
    if (one.cluster > ClusterBlocks::most) return false;
    one.cluster = 1;
    one.four_bytes = false;
    if (one != (one.threads == many ? FusedClusters<many>::config : FusedClusters<few>::config)) return false;
  }
  return true;
}
static_assert(known_kernels());

}  // namespace

template <class T> Status launch_fused_clusters(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Config& c = variants[plan.variant].config;
  if constexpr (sizeof(T) == 2)
    if (has_roles(c)) return launch_roles<T>(plan, operands, stream);
  const FusedRows shape = fused_rows(c, plan.problem, plan.device.smem_optin, plan.grid);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(shape.smem),
                        .stream = stream.handle};
  SumsPlan sums;
  sums.fused = true;
  const auto launch = [&](auto kernel) {
    return tile::sm90::launch_clusters(at, c.cluster, kernel, backward_of<T>({plan, operands, sums, stream}),
                                       static_cast<float*>(operands.workspace), shape);
  };
  if (c.threads == many) return launch(norm_fused_gradient<FusedClusters<many>, 32, T, ClusterBlocks>);
  return launch(norm_fused_gradient<FusedClusters<few>, 32, T, ClusterBlocks>);
}
template Status launch_fused_clusters<float>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<half>(const NormPlan&, const Operands&, Stream);
template Status launch_fused_clusters<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
