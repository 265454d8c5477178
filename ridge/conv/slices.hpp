// Where y has fewer tiles than a device has multiprocessors and a sum has many terms, blocks share a tile's products: each
// has a slice of the terms, along (r, s, c) as the row walks them, whose sums are in the workspace until a second kernel
// adds them up in the slices' order, and runs the epilogue (gemm/add_slices.cuh). Facts that plan and launch share.
#pragma once
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/add_slices.hpp>

namespace ridge::conv_detail {

inline bool has_slices(const Config& c, const ConvProblem& p) {
  return (c.method == Method::implicit || gathers(c)) && !p.backward && p.y.count() > 0 && terms_of(p) > 0;
}

// Whether sums lie with pixels as rows and filters as columns, or the other way around.
constexpr bool pixels_are_rows(const Config& c, const ConvProblem& p) {
  return c.method == Method::wgmma || (c.method == Method::implicit && p.geometry.layout == ConvLayout::nhwc);
}

// The product of a group in at most `wanted` slices: k and slice_k count the row's steps, batch groups.
inline gemm_kernels::Shape shape_in_slices(const Config& c, const ConvProblem& p, int wanted) {
  const std::int64_t steps =
      c.method == Method::implicit ? ceil_div(terms_of(p), implicit_step) : gathering_of(p, c).steps(c.step);
  const gemm_kernels::Slices slices = gemm_kernels::slices_of(1, steps, has_slices(c, p) ? wanted : 1);
  const std::int64_t filters = filters_of_group(p), pixels = pixels_of(p);
  const bool turned = pixels_are_rows(c, p);
  return {turned ? pixels : filters, turned ? filters : pixels, steps, p.geometry.groups, slices.count, slices.k};
}

inline std::int64_t slice_bytes(const gemm_kernels::Shape& s) {
  return s.slices == 1 ? 0 : s.batch * s.slices * s.m * gemm_kernels::slice_pitch(s.n) * 4;
}

// Where they begin, in bytes of the workspace: behind what is copied first.
inline std::int64_t slices_at(const Config& c, const ConvProblem& p) {
  return gathers(c) ? ceil_div(gathering_of(p, c).bytes(), 128) * 128 : 0;
}

// All of the workspace, of several slices.
inline std::size_t workspace_in_slices(const Config& c, const ConvProblem& p, int wanted) {
  return static_cast<std::size_t>(slices_at(c, p) + slice_bytes(shape_in_slices(c, p, wanted)));
}

}  // namespace ridge::conv_detail
