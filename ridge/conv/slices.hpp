// Where y has fewer tiles than a device has multiprocessors and a sum has many terms, blocks share a tile's products:
// each has a slice of the terms, along (r, s, c) as the row walks them, whose sums are in the workspace until a second
// kernel adds them up, in an order that the sizes give, and runs the epilogue (gemm/add_slices.cuh). How they are cut:
// plan.hpp.
#pragma once
#include <ridge/conv/variants.hpp>
#include <ridge/gemm/add_slices.hpp>

namespace ridge::conv_detail {

// The sums of all slices; none of one.
inline std::int64_t slice_bytes(const gemm_kernels::Shape& s) {
  return s.slices == 1 ? 0 : s.batch * s.slices * s.m * gemm_kernels::slice_pitch(s.n) * 4;
}

// A group's product: k and slice_k count the row's steps, batch groups. Of Hopper's tensor cores, and of implicit rows
// in NHWC, rows are pixels and columns filters; else the other way around.
inline gemm_kernels::Shape shape_of_product(const Config& c, const ConvProblem& p, std::int64_t steps,
                                            const gemm_kernels::Slices& slices) {
  const std::int64_t filters = filters_of_group(p), pixels = pixels_of(p);
  const bool pixels_are_rows =
      c.method == Method::wgmma || (c.method == Method::implicit && p.geometry.layout == ConvLayout::nhwc);
  return {pixels_are_rows ? pixels : filters,
          pixels_are_rows ? filters : pixels,
          steps,
          p.geometry.groups,
          slices.count,
          slices.k};
}

}  // namespace ridge::conv_detail
