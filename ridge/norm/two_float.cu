// Launches the variants that have double-float statistics.
#include <ridge/core/table.hpp>
#include <ridge/norm/resident.cuh>
#include <ridge/norm/streaming.cuh>
#include <ridge/norm/two_float.cuh>

namespace ridge::norm_detail {

template <int I, int Warp, bool Rms> static Status launch_row(const Call& call) {
  using P = Policy<I>;
  constexpr Config c = P::config;
  if constexpr (!c.two_float) return no_kernel();
  else if constexpr (c.algorithm == Algorithm::streaming)
    return streaming::launch_forward<P, float, Warp>(call, two_float_sums<Rms>(call.plan.problem));
  else return resident::launch_forward<P, float, Warp>(call, two_float_sums<Rms>(call.plan.problem));
}

template <> Status launch_two_float<simt::Backend>(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    return visit_row<variant_count>(plan.variant, [&]<int I>() {
      return plan.problem.norm == Norm::rms ? launch_row<I, width, true>(call) : launch_row<I, width, false>(call);
    });
  });
}

}  // namespace ridge::norm_detail
