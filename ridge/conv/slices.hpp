// Split-K, where y has fewer tiles than the device has multiprocessors and a sum has many terms: each block has a slice
// of the terms, along (r, s, c) in the row's order. The slices' sums go to the workspace; a second kernel adds them up,
// in an order that depends on the sizes alone, and runs the epilogue (gemm/add_slices.cuh).
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/gemm/add_slices.hpp>

namespace ridge::conv_detail {

// How a family that goes along k in steps splits it.
struct Slicing {
  // Forward: a group's product in at most `wanted` slices; k and slice_k count the row's steps, batch groups.
  gemm_kernels::Shape (*shape)(const Config&, const ConvProblem&, int wanted);
  // Forward: bytes of copies, which are in the workspace before the slices' sums.
  std::int64_t (*copies)(const Config&, const ConvProblem&);
  // Backward: the number of parts that the filter gradient splits the pixels into; their sums are added up in order.
  // Null where the family has no gradients.
  int (*parts)(const Config&, const ConvProblem&, const DeviceInfo&);
};

// pixels_are_rows: pixels are the product's rows and filters its columns; else the other way around.
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

// Bytes of all slices' sums; 0 without split-K.
inline std::int64_t slice_bytes(const gemm_kernels::Shape& s) {
  return s.slices == 1 ? 0 : s.batch * s.slices * s.m * gemm_kernels::slice_pitch(s.n) * 4;
}
// Where they begin in the workspace, after so many bytes of copies: aligned to cache lines.
inline std::int64_t slices_at(std::int64_t copies, const gemm_kernels::Shape& s) {
  return slice_bytes(s) == 0 ? copies : ceil_div(copies, 128) * 128;
}
inline std::size_t sliced_workspace(std::int64_t copies, const gemm_kernels::Shape& s) {
  return static_cast<std::size_t>(slices_at(copies, s) + slice_bytes(s));
}

// Adds the time of the kernel that sums the slices; the product hides its launch.
inline void add_slices_to(roofline::Kernel& k, const gemm_kernels::Shape& shape, const DeviceInfo& device) {
  if (shape.slices == 1) return;
  k.serial_us += gemm_kernels::add_slices_us(slice_bytes(shape), static_cast<int>(shape.slices), device);
}

}  // namespace ridge::conv_detail
