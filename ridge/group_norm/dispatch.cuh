// Instantiates the table of variants.hpp for a type, and launches the row that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/group_norm/element.cuh>
#include <ridge/group_norm/resident.cuh>
#include <ridge/group_norm/split.cuh>

namespace ridge::group_norm_detail {

template <int I, class T, int Warp> static Status launch_row(const Call<T>& call) {
  using P = Policy<I>;
  constexpr Algorithm algorithm = P::config.algorithm;
  if constexpr (algorithm == Algorithm::element) return element::launch<P, T, Warp>(call);
  else if constexpr (algorithm == Algorithm::resident) return resident::launch<P, T, Warp>(call);
  else return split::launch<P, T, Warp>(call);
}

template <class T> static Status launch_plan(const GroupNormPlan& plan, const Operands& operands, Stream stream) {
  const Call<T> call = call_of<T>(plan, operands, stream);
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    if (!is_empty(plan.problem))
      return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T, width>(call); });
    // Sums of nothing: there are no rows.
    return wants_sums(plan.problem) ? launch_finish<width>(call, SumsPlan{}) : Status{};
  });
}

}  // namespace ridge::group_norm_detail
