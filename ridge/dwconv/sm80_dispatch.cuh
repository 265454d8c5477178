// Launches the table rows of Algorithm::tensor.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/dwconv/sm80_toeplitz.cuh>

namespace ridge::dwconv_detail {

template <int I, class T> static Status launch_tensor_row(const Arguments& args) {
  if constexpr (variants[I].config.algorithm != Algorithm::tensor) {
    return Status::error(Code::unsupported, "dwconv: this variant is launched elsewhere");
  } else {
    return launch_sums<T>(
        args, [&](const Sum<T>& sum, auto summed) { return tensor::launch<I, T, decltype(summed)::value>(args, sum); });
  }
}

template <class T> static Status launch_tensor_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_tensor_row<I, T>(args); });
}

}  // namespace ridge::dwconv_detail
