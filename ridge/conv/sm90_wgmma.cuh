// Convolutions on Hopper's tensor cores: gemm's kernel (gemm/sm90_wgmma.cuh) with the image loader of sm90_image.cuh.
#pragma once
#include <ridge/conv/slices.cuh>
#include <ridge/conv/sm90_copies.cuh>
#include <ridge/conv/sm90_gradient.cuh>
#include <ridge/conv/sm90_image.cuh>
#include <ridge/conv/sm90_output.cuh>
#include <ridge/conv/sm90_wgmma.hpp>

namespace ridge::conv_detail {

// Policy of gemm's kernel for a row of the table.
template <int I> struct WgmmaPolicy { static constexpr gemm_kernels::Config config = wgmma_tile(variants[I].config); };

namespace wgmma {

// Policy: of gemm's kernel.
template <class Policy, class T, bool Volume = false>
[[nodiscard]] static Status launch_forward(const Arguments& args) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Policy, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering_of(p, K::c.bk, false);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<T>(args, g, x, w));

  ImageLoaderIn<Volume> loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, tile::sm90::operand_element(p.dtype), K::c.bm, K::box_b, K::c.line));

  const AxisMaps maps = forward_maps(p);
  const auto output = output_of<T, true, Volume>(epilogue_of<T>(args), pixels_in<Volume>(maps, p.x, p.y), maps.h,
                                                 maps.w, static_cast<T*>(args.y), p.y, p.w.shape[0]);
  return launch_in_slices(args, true, output, [&](const auto& to, const gemm::Shape& shape) {
    const PixelOutput out = shape.slices == 1 ? pixel_output<T>(K::c, args, args.y, p.y) : PixelOutput{};
    set_slices(loader, shape, K::c.bk);
    return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::k>(
        loader, out.store, {shape.m, shape.n, 0, shape.slices}, whole(shape.slice_k), out.epilogue, to,
        args.plan.device.sms, args.stream);
  });
}

template <int I, class T> [[nodiscard]] static Status launch(const Arguments& args) {
  if constexpr (has_gradient(variants[I].config))
    if (args.plan.problem.backward) return launch_gradient<WgmmaPolicy<I>, T>(args);
  return launch_forward<WgmmaPolicy<I>, T>(args);
}

template <int I, class T> [[nodiscard]] static Status launch_volumes(const Arguments& args) {
  if constexpr (has_gradient(variants[I].config))
    if (args.plan.problem.backward) return launch_filter_gradient<T, true>(args);
  return launch_forward<WgmmaPolicy<I>, T, true>(args);
}

}  // namespace wgmma
}  // namespace ridge::conv_detail
