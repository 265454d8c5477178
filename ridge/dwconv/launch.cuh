// Launches the row of variants.hpp that a plan chose. Functions are static: the .cu files are compiled twice, for the
// CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/dwconv/arguments.cuh>
#include <ridge/dwconv/ring.cuh>
#include <ridge/dwconv/spectral.cuh>
#include <ridge/dwconv/tiled.cuh>

namespace ridge::dwconv_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class T, bool Summed> static Status launch_sum(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = variants[I].config;
  const DwconvProblem& p = args.plan.problem;
  simt::Config at{
      .grid = dim3(1), .block = dim3(c.threads), .stream = args.stream.handle, .warp = args.plan.device.warp};
  if constexpr (c.method == Method::element) {
    const std::int64_t outputs = sum.y.size * p.channels * (Summed ? 1 : p.batch);
    at.grid = dim3(static_cast<unsigned>(ceil_div(outputs, c.threads)));
    return simt::launch(at, dwconv_element<Policy<I>, T, Summed>, sum);
  } else if constexpr (c.method == Method::spectral) {
    at.grid = dim3(static_cast<unsigned>(spectral_grid(c, p, sum.y.size, Summed)));
    at.smem = static_cast<std::size_t>(spectral_smem_bytes(c));
    return simt::launch(at, dwconv_spectral<Policy<I>, T, Summed>, sum, spectral_tiles(c, p, Summed));
  } else if constexpr (c.method == Method::ring) {
    const int sms = args.plan.device.sms;
    at.grid = dim3(static_cast<unsigned>(Summed ? p.channels : ring_grid(c, p, sms)));
    at.smem = static_cast<std::size_t>(ring_smem_bytes(c));
    if constexpr (Summed) return simt::launch(at, dwconv_ring_sum<Policy<I>, T>, sum);
    else return simt::launch(at, dwconv_ring<Policy<I>, T>, sum, ring_rows(c, p, sms));
  } else {
    at.grid = dim3(static_cast<unsigned>(tiled_grid(c, p, sum.y.size, Summed)));
    at.smem = static_cast<std::size_t>(tiled_smem_bytes(c, Summed));
    return simt::launch(at, dwconv_tiled<Policy<I>, T, Summed>, sum);
  }
}

template <int I, class T> static Status launch_row(const Arguments& args) {
  if constexpr (variants[I].config.method == Method::tensor || variants[I].config.method == Method::whole) {
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
