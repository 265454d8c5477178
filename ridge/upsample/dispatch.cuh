// Instantiates the table of variants.hpp for a type, and launches the row that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/upsample/channels.cuh>
#include <ridge/upsample/channels_x2.cuh>
#include <ridge/upsample/gradient_channels.cuh>
#include <ridge/upsample/gradient_channels_x2.cuh>
#include <ridge/upsample/gradient_rows.cuh>
#include <ridge/upsample/gradient_rows_x2.cuh>
#include <ridge/upsample/launch.hpp>
#include <ridge/upsample/naive.cuh>
#include <ridge/upsample/rows.cuh>
#include <ridge/upsample/rows_x2.cuh>

namespace ridge::upsample_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

// M: Nearest or Bilinear. What is not instantiated is what the plan refuses.
template <int I, class M, class T> static Status launch_row(const Call<T>& call) {
  using R = Policy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm == Algorithm::naive) return naive::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::rows) return rows::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::rows_x2) return rows_x2::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::channels) return channels::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::channels_x2) return channels_x2::launch<R, M>(call);
  else if constexpr (!has_gradient<T>) return Status::error(Code::unsupported, "upsample: bytes have no gradient");
  else if constexpr (algorithm == Algorithm::gradient_rows) return gradient_rows::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::gradient_rows_x2) return gradient_rows_x2::launch<R, M>(call);
  else if constexpr (algorithm == Algorithm::gradient_channels) return gradient_channels::launch<R, M>(call);
  else return gradient_channels_x2::launch<R, M>(call);
}

template <class T> static Status launch_table(const Arguments& args) {
  const Call<T> call{args.plan, static_cast<const T*>(args.in), static_cast<T*>(args.out), args.stream};
  return visit_row<variant_count>(call.plan.variant, [&]<int I>() {
    if constexpr (has_gradient<T>)
      if (call.plan.problem.how.mode == Interpolation::bilinear) return launch_row<I, Bilinear>(call);
    return launch_row<I, Nearest>(call);
  });
}

}  // namespace ridge::upsample_detail
