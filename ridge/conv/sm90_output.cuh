// How gemm's kernel stores the sums of pixels: as rows of a matrix, by TMA, or element by element.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::conv_detail {

// The store and the epilogue that the kernel has itself. Store::epilogue: the launch's epilogue stores.
struct PixelOutput {
  gemm_kernels::WgmmaOutput store = {};
  gemm_kernels::ColumnEpilogue epilogue = {};
};

// The output of all pixels to `data`, [pixels, filters] of layout `y`, where they are the rows of a matrix there, and
// in the residual too.                                                       c: of gemm's kernel
template <class T>
static PixelOutput pixel_output(const gemm_kernels::Config& c, const Arguments& args, void* data, const Layout& y) {
  namespace gemm = gemm_kernels;
  const ConvProblem& p = args.plan.problem;
  if (!is_matrix(p, y)) return {};
  if (p.residual && !(is_matrix(p, *p.residual) && gemm::takes_addend(c, int{sizeof(T)}))) return {};
  PixelOutput out;
  out.store = {gemm::has_tma_store<T> ? gemm::Store::tma : gemm::Store::tma_float, {data, pixel_pitch(y), 0}};
  out.epilogue.activation = p.epilogue.activation;
  if (p.bias) out.epilogue.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
  out.epilogue.plain = !p.bias && !p.residual && p.epilogue.activation == Activation::none;
  if (p.residual) {
    out.store.addend = {args.residual, pixel_pitch(*p.residual), 0};
    out.epilogue.addend = p.epilogue.residual_first ? gemm::Addend::before_activation : gemm::Addend::after_activation;
  }
  return out;
}

}  // namespace ridge::conv_detail
