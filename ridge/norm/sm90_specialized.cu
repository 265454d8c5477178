// Launches Algorithm::specialized.
#include <ridge/core/table.hpp>
#include <ridge/norm/sm90_specialized.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int InRegisters, int Summing> struct SpecializedPolicy {
  static constexpr Config config = {
      .algorithm = Algorithm::specialized, .threads = Threads, .in_registers = InRegisters, .summing = Summing};
};

template <int I, class T> Status launch_row(const Call& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::specialized) {
    return no_kernel();  // launched elsewhere
  } else {
    static_assert(c.rows == 1 && c.cluster <= SpecializedRows::most_cluster);
    const NormPlan& plan = call.plan;
    using P = SpecializedPolicy<c.threads, c.in_registers, c.summing>;
    return tile::sm90::launch_clusters(launch_config(call, 32), c.cluster, norm_specialized_gradient<P, T>,
                                       backward_of<T>(call), slices_of_sums<T>(call),
                                       specialized::shape_of(c, plan.problem, plan.device.smem_optin, plan.grid));
  }
}

}  // namespace

template <class T> Status launch_specialized(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
}
template Status launch_specialized<half>(const NormPlan&, const Operands&, Stream);
template Status launch_specialized<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
