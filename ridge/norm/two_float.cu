// The rows of the table that are there in two floats.
#include <ridge/norm/resident.cuh>
#include <ridge/norm/streaming.cuh>
#include <ridge/norm/two_float.cuh>

#include <utility>

namespace ridge::norm_detail {

template <int I, int Warp, bool Rms> static Status launch_row(const Call& call) {
  using P = Policy<I>;
  constexpr Config c = P::config;
  if constexpr (!c.two_float) return no_kernel();
  else if constexpr (c.algorithm == Algorithm::streaming)
    return streaming::launch_forward<P, float, Warp>(call, two_float_sums<Rms>(call.plan.problem));
  else return resident::launch_forward<P, float, Warp>(call, two_float_sums<Rms>(call.plan.problem));
}

template <int Warp, bool Rms, int... I>
static Status launch_variant(const Call& call, std::integer_sequence<int, I...>) {
  Status status;
  ((call.plan.variant == I ? void(status = launch_row<I, Warp, Rms>(call)) : void()), ...);
  return status;
}

template <> Status launch_two_float<simt::Backend>(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    constexpr std::make_integer_sequence<int, variant_count> all{};
    return plan.problem.norm == Norm::rms ? launch_variant<width, true>(call, all)
                                          : launch_variant<width, false>(call, all);
  });
}

}  // namespace ridge::norm_detail
