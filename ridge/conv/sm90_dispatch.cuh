// Launches the Hopper row that a plan chose, through its family.
#pragma once
#include <ridge/conv/sm90_fma.cuh>
#include <ridge/conv/sm90_shuffle.cuh>
#include <ridge/conv/sm90_stem.cuh>
#include <ridge/conv/sm90_wgmma.cuh>
#include <ridge/core/table.hpp>

namespace ridge::conv_detail {

// Refused by the family's fits(), or launched elsewhere.
[[maybe_unused]] static Status no_kernel() {
  return Status::error(Code::unsupported, "conv2d: this variant is not compiled for the type");
}

// A template, so that a file that has no such rows does not compile them.
template <class T> [[nodiscard]] static Status launch_fma_table(const Arguments& args) {
  static_assert(std::is_same_v<T, float>);
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    if constexpr (variants[I].config.algorithm == Algorithm::fma) return fma::launch<Policy<I>>(args);
    else return no_kernel();
  });
}

template <class T> [[nodiscard]] static Status launch_wgmma_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    constexpr Config c = variants[I].config;
    if constexpr (c.algorithm == Algorithm::wgmma && wgmma::is_compiled(c, dtype_of<T>))
      return wgmma::launch<I, T>(args);
    else if constexpr (c.algorithm == Algorithm::stem && dtype_of<T> != f32) return stem::launch<Policy<I>, T>(args);
    else if constexpr (c.algorithm == Algorithm::shuffle && dtype_of<T> != f32)
      return shuffle::launch<WgmmaPolicy<I>, T>(args);
    else return no_kernel();
  });
}

// Volumes: in files of their own, since these are kernels of their own.
template <class T> [[nodiscard]] static Status launch_volume_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    constexpr Config c = variants[I].config;
    if constexpr (c.algorithm == Algorithm::wgmma && wgmma::takes_volumes(c) && wgmma::is_compiled(c, dtype_of<T>))
      return wgmma::launch_volumes<I, T>(args);
    else if constexpr (c.algorithm == Algorithm::fma && dtype_of<T> == f32) return fma::launch<Policy<I>, true>(args);
    else return no_kernel();
  });
}

}  // namespace ridge::conv_detail
