// Launches Algorithm::ring.
#include <ridge/core/table.hpp>
#include <ridge/norm/launch.cuh>
#include <ridge/norm/sm90_ring.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::norm_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int InRegisters, int Team> struct RingPolicy {
  static constexpr Config config = {
      .algorithm = Algorithm::ring, .threads = Threads, .in_registers = InRegisters, .team = Team};
};

template <int I, class T> Status launch_row(const Call& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::ring) {
    return no_kernel();  // launched elsewhere
  } else {
    const NormPlan& plan = call.plan;
    const NormProblem& p = plan.problem;
    const std::int64_t pitch = p.rows > 1 ? (*p.row_layouts)[0].pitch() * static_cast<std::int64_t>(sizeof(T)) : 0;
    const tile::RowRing of_grid = ring::ring_of(c, p, plan.device.smem_optin).of_clusters(plan.grid / c.cluster, pitch);
    using P = RingPolicy<c.threads, c.in_registers, c.team>;
    const Forward<T> a = forward_of<T>(call);
    const auto rows_of = [&](const auto& tensor, int layout) {
      return tile::sm90::ring_rows(tensor.data, (*p.row_layouts)[layout].pitch(), p.rows, p.cols);
    };
    const auto in_clusters = [&](auto kernel, const auto& inputs) {
      return tile::sm90::launch_clusters(launch_config(call, 32), c.cluster, kernel, a, of_grid, inputs);
    };
    if (!p.added) return in_clusters(norm_ring<P, T, false>, RingInputs<1>{{rows_of(a.x, 0)}});
    if constexpr (c.plain) return no_kernel();
    else return in_clusters(norm_ring<P, T, true>, RingInputs<2>{{rows_of(a.x, 0), rows_of(a.residual, 2)}});
  }
}

}  // namespace

template <class T> Status launch_ring(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
}
template Status launch_ring<float>(const NormPlan&, const Operands&, Stream);
template Status launch_ring<half>(const NormPlan&, const Operands&, Stream);
template Status launch_ring<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
