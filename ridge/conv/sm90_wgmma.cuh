// Convolutions on Hopper's tensor cores: gemm's kernel (gemm/sm90_wgmma.cuh) with the image loader of sm90_image.cuh.
#pragma once
#include <ridge/conv/slices.cuh>
#include <ridge/conv/sm90_copies.cuh>
#include <ridge/conv/sm90_gradient.cuh>
#include <ridge/conv/sm90_image.cuh>
#include <ridge/conv/sm90_wgmma.hpp>

namespace ridge::conv_detail {

// Policy of gemm's kernel for a row of the table.
template <int I> struct WgmmaPolicy { static constexpr gemm_kernels::Config config = wgmma_tile(variants[I].config); };

namespace wgmma {

// Whether outputs are stored by TMA, or as float32 by threads: pixels are rows of a matrix, in the residual too.
static inline bool is_by_columns(const gemm_kernels::Config& c, const ConvProblem& p, const Layout& y) {
  return is_matrix(p, y) && (!p.residual || (is_matrix(p, *p.residual) &&
                                             gemm_kernels::takes_addend(c, static_cast<int>(size_of(p.dtype)))));
}

// Policy: of gemm's kernel.
template <class Policy, class T> [[nodiscard]] static Status launch_forward(const Arguments& args) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Policy, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering_of(p, K::c.bk, false);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<T>(args, g, x, w));

  ImageLoader loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, tile::sm90::operand_element(p.dtype), K::c.bm, K::box_b, K::c.line));

  const AxisMap h = axis_h(p).forward(), v = axis_w(p).forward();
  const auto output = output_of<T, true>(epilogue_of<T>(args), pixels_of(h, v, p.x, p.y), h, v, static_cast<T*>(args.y),
                                         p.y, p.w.shape[0]);
  return launch_in_slices(args, true, output, [&](const auto& to, const gemm::Shape& shape) {
    gemm::WgmmaOutput out;
    gemm::ColumnEpilogue by_columns;
    if (shape.slices == 1 && is_by_columns(K::c, p, p.y)) {
      out = {gemm::has_tma_store<T> ? gemm::Store::tma : gemm::Store::tma_float, {args.y, pixel_pitch(p.y), 0}};
      by_columns.activation = p.epilogue.activation;
      if (p.bias) by_columns.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
      by_columns.plain = !p.bias && !p.residual && p.epilogue.activation == Activation::none;
      if (p.residual) {
        out.addend = {args.residual, pixel_pitch(*p.residual), 0};
        by_columns.addend =
            p.epilogue.residual_first ? gemm::Addend::before_activation : gemm::Addend::after_activation;
      }
    }
    set_slices(loader, shape, K::c.bk);
    return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::k>(
        loader, out, {shape.m, shape.n, 0, shape.slices}, whole(shape.slice_k), by_columns, to, args.plan.device.sms,
        args.stream);
  });
}

template <int I, class T> [[nodiscard]] static Status launch(const Arguments& args) {
  if constexpr (has_gradient(variants[I].config))
    if (args.plan.problem.backward) return launch_gradient<WgmmaPolicy<I>, T>(args);
  return launch_forward<WgmmaPolicy<I>, T>(args);
}

}  // namespace wgmma
}  // namespace ridge::conv_detail
