// Where y has fewer tiles than a device has multiprocessors and a sum has many terms, blocks share a tile's products:
// each has a slice of the terms, along (r, s, c) as the row walks them, whose sums are in the workspace until a second
// kernel adds them up, in an order that the sizes give, and runs the epilogue (gemm/add_slices.cuh).
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/gemm/add_slices.hpp>

namespace ridge::conv_detail {

// How a family that goes along a sum's terms in steps has blocks share them.
struct Slicing {
  // Forward: a group's product in at most `wanted` slices; k and slice_k count the row's steps, batch groups.
  gemm_kernels::Shape (*shape)(const Config&, const ConvProblem&, int wanted);
  // Forward: bytes of copies, which lie in the workspace before the slices' sums.
  std::int64_t (*copies)(const Config&, const ConvProblem&);
  // Backward: parts of the pixels whose sums are kept apart in the filters' gradient, and added up in their order
  // afterwards. Null where it has no gradients.
  int (*parts)(const Config&, const ConvProblem&, const DeviceInfo&);
};

// pixels_are_rows: and filters columns of the product; else the other way around.
inline gemm_kernels::Shape shape_of_product(const ConvProblem& p, bool pixels_are_rows, std::int64_t steps,
                                            const gemm_kernels::Slices& slices) {
  const std::int64_t filters = filters_of_group(p), pixels = pixels_of(p);
  return {pixels_are_rows ? pixels : filters,
          pixels_are_rows ? filters : pixels,
          steps,
          p.geometry.groups,
          slices.count,
          slices.k};
}
inline gemm_kernels::Shape shape_in_slices(const ConvProblem& p, bool pixels_are_rows, std::int64_t steps, int wanted) {
  return shape_of_product(p, pixels_are_rows, steps, gemm_kernels::slices_of(1, steps, wanted));
}

// The sums of all slices; none of one.
inline std::int64_t slice_bytes(const gemm_kernels::Shape& s) {
  return s.slices == 1 ? 0 : s.batch * s.slices * s.m * gemm_kernels::slice_pitch(s.n) * 4;
}
// Where they begin in the workspace, behind so many bytes of copies: on whole cache lines.
inline std::int64_t slices_at(std::int64_t copies, const gemm_kernels::Shape& s) {
  return slice_bytes(s) == 0 ? copies : ceil_div(copies, 128) * 128;
}
inline std::size_t sliced_workspace(std::int64_t copies, const gemm_kernels::Shape& s) {
  return static_cast<std::size_t>(slices_at(copies, s) + slice_bytes(s));
}

// The kernel that adds slices up, whose launch the product hides.
inline void add_slices_to(roofline::Kernel& k, const gemm_kernels::Shape& shape, const DeviceInfo& device) {
  if (shape.slices == 1) return;
  k.serial_us += gemm_kernels::add_slices_us(slice_bytes(shape), static_cast<int>(shape.slices), device);
}

}  // namespace ridge::conv_detail
