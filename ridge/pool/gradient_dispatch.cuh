// Instantiates the table's rows of gradients for a type, and launches the row that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/pool/gradient_pixels.cuh>
#include <ridge/pool/gradient_rows.cuh>
#include <ridge/pool/gradient_tiles.cuh>
#include <ridge/pool/launch.hpp>

namespace ridge::pool_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct GradientPolicy { static constexpr Config config = variants[I].config; };

template <int I, class F, class T> static Status launch_gradient_row(const GradientCall<T>& call) {
  using R = GradientPolicy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm == Algorithm::gradient_pixels) return gradient_pixels::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::gradient_rows) return gradient_rows::launch<R, F>(call);
  else if constexpr (algorithm == Algorithm::gradient_tiles) return gradient_tiles::launch<R, F>(call);
  // The family's fits() refuses gradients.
  else return Status::error(Code::unsupported, "pool: this variant has no gradient");
}

template <class T> static Status launch_gradient_table(const GradientArguments& args) {
  const GradientCall<T> call{args.plan,
                             {static_cast<const T*>(args.dy), static_cast<const T*>(args.x),
                              static_cast<const T*>(args.y), static_cast<T*>(args.dx)},
                             args.stream};
  return visit_row<variant_count>(call.plan.variant, [&]<int I>() {
    return call.plan.problem.function == Pool::max ? launch_gradient_row<I, Max>(call)
                                                   : launch_gradient_row<I, Mean>(call);
  });
}

}  // namespace ridge::pool_detail
