// Launches the table rows by mma.sync.
#pragma once
#include <ridge/conv/sm80_filter_gradient.cuh>
#include <ridge/conv/sm80_grouped.cuh>
#include <ridge/core/table.hpp>

namespace ridge::conv_detail {

template <class T> [[nodiscard]] static Status launch_mma_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    constexpr Algorithm algorithm = variants[I].config.algorithm;
    if constexpr (algorithm == Algorithm::few_gradient)
      return few_gradient::launch<Policy<I>, T>(args, launch_config(args));
    else if constexpr (is_by_mma(algorithm)) return grouped_mma::launch<Policy<I>, T>(args, launch_config(args));
    else return Status::error(Code::unsupported, "conv2d: this variant is launched elsewhere");
  });
}

}  // namespace ridge::conv_detail
