// Launches the row of variants.hpp that a plan chose, through its family.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/dwconv/element.cuh>
#include <ridge/dwconv/ring.cuh>
#include <ridge/dwconv/spectral.cuh>
#include <ridge/dwconv/tiled.cuh>

namespace ridge::dwconv_detail {

template <int I, class T, bool Summed> static Status launch_sum(const Arguments& args, const Sum<T>& sum) {
  constexpr Algorithm algorithm = variants[I].config.algorithm;
  if constexpr (algorithm == Algorithm::element) return element::launch<I, T, Summed>(args, sum);
  else if constexpr (algorithm == Algorithm::spectral) return spectral::launch<I, T, Summed>(args, sum);
  else if constexpr (algorithm == Algorithm::ring) return ring::launch<I, T, Summed>(args, sum);
  else return tiled::launch<I, T, Summed>(args, sum);
}

template <int I, class T> static Status launch_row(const Arguments& args) {
  constexpr Algorithm algorithm = variants[I].config.algorithm;
  if constexpr (algorithm == Algorithm::tensor || algorithm == Algorithm::whole) {
    return Status::error(Code::unsupported, "dwconv: this variant is CUDA's alone");  // refused by fits()
  } else {
    return launch_sums<T>(
        args, [&](const Sum<T>& sum, auto summed) { return launch_sum<I, T, decltype(summed)::value>(args, sum); });
  }
}

template <class T> static Status launch_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_row<I, T>(args); });
}

}  // namespace ridge::dwconv_detail
