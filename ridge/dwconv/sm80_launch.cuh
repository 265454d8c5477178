// Launches the table rows of Method::tensor.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/dwconv/arguments.cuh>
#include <ridge/dwconv/sm80_lags.cuh>
#include <ridge/dwconv/sm80_toeplitz.cuh>

namespace ridge::dwconv_detail {
namespace {

template <int I> struct TensorPolicy { static constexpr Config config = variants[I].config; };

template <int I, class T> Status launch_toeplitz(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = variants[I].config;
  const DwconvProblem& p = args.plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(tensor_grid(c, p))),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(tensor_smem_bytes(c, p.dtype)),
                        .stream = args.stream.handle};
  return simt::launch(at, dwconv_toeplitz<TensorPolicy<I>, T>, sum, is_vector_aligned(sum.p, p.alignment));
}

template <class T> Status launch_lags(const Arguments& args, const Sum<T>& sum) {
  const DwconvProblem& p = args.plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(p.channels)),
                        .block = dim3(band_threads),
                        .smem = static_cast<std::size_t>(band_smem_bytes(p)),
                        .stream = args.stream.handle};
  const Segments cut{static_cast<int>(segments(p)), static_cast<int>(segment_steps(p)), static_cast<int>(lags(p))};
  return simt::launch(at, dwconv_lags<T>, sum, cut, is_vector_aligned(sum.p, p.alignment),
                      is_vector_aligned(sum.q, p.alignment));
}

template <int I, class T> Status launch_tensor_row(const Arguments& args) {
  if constexpr (variants[I].config.method != Method::tensor) {
    return Status::error(Code::unsupported, "dwconv: this variant is launched elsewhere");
  } else {
    return launch_sums<T>(args, [&](const Sum<T>& sum, auto summed) {
      if constexpr (decltype(summed)::value) return launch_lags<T>(args, sum);
      else return launch_toeplitz<I, T>(args, sum);
    });
  }
}

template <class T> Status launch_tensor_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_tensor_row<I, T>(args); });
}

}  // namespace
}  // namespace ridge::dwconv_detail
