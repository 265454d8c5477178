// Launches the variant that a plan chose, and then the kernels over columns. Included by one .cu file per type;
// functions are static, because each is compiled twice, for the CPU runtime and for CUDA, into one library.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/norm/elements.cuh>
#include <ridge/norm/even.cuh>
#include <ridge/norm/fused.cuh>
#include <ridge/norm/resident.cuh>
#include <ridge/norm/short.cuh>
#include <ridge/norm/span.cuh>
#include <ridge/norm/split.cuh>
#include <ridge/norm/streaming.cuh>
#include <ridge/norm/sums.cuh>
#include <ridge/norm/vector.cuh>

#include <type_traits>

namespace ridge::norm_detail {

// Launches the kernel over rows. Kernels that only nvcc compiles are in sm90_*.cu.
template <int I, class T, int Warp> static Status launch_row(const Call& call) {
  using P = Policy<I>;
  constexpr Config c = P::config;
  if constexpr (c.algorithm == Algorithm::streaming) return streaming::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::span) return span::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::span_sums) return span::launch_gradient<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::elements) return elements_of_rows::launch<P, T, Warp>(call);
  else if constexpr (std::is_same_v<T, double>) return no_kernel();
  else if constexpr (c.algorithm == Algorithm::vector) return vector::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::split) return split::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::even) return even::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::short_rows) return short_rows::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::short_sums) return short_rows::launch_gradient<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::resident && c.cluster == 1) return resident::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::fused && c.cluster == 1) return fused::launch<P, T, Warp>(call);
  else if constexpr (!RIDGE_SIMT_ON_CUDA) return no_kernel();
  else if constexpr (c.algorithm == Algorithm::resident)
    return launch_resident_clusters<T>(call.plan, call.operands, call.stream);
  else if constexpr (c.algorithm == Algorithm::fused)
    return launch_fused_clusters<T>(call.plan, call.operands, call.stream);
  else if constexpr (c.algorithm == Algorithm::ring) return launch_ring<T>(call.plan, call.operands, call.stream);
  else if constexpr (c.algorithm == Algorithm::specialized && sizeof(T) == 2)
    return launch_specialized<T>(call.plan, call.operands, call.stream);
  else return no_kernel();
}

template <class T> static Status launch_plan(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Call call = call_of(plan, operands, stream);
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    if (plan.grid > 0)
      RIDGE_TRY(visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T, width>(call); }));
    if (!wants_sums(plan.problem)) return Status{};
    return launch_sums<T, width>(call);
  });
}

}  // namespace ridge::norm_detail
