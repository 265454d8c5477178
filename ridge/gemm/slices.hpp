// Split-K where D has few tiles for a device's multiprocessors and k is long: each slice of k stores its sums to the
// workspace, and a second kernel adds them up in an order that the sizes determine. Shared by plan and launch.
#pragma once
#include <ridge/gemm/add_slices.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {

// Whether the sums of a problem's slices can be added up. Those of signed bytes must be added as integers, and are if D
// is i32; double-floats are rounded when they leave a thread.
inline bool has_addable_sums(const GemmProblem& p) {
  return !p.grouped && (p.dtype != i8 || *p.out == i32) && !is_two_float(p);
}

inline Slices slices_of(const Config& c, std::int64_t k, int wanted) {
  return gemm_kernels::slices_of(c.bk, k, wanted);
}

// Bytes of the sums in the workspace: with a gate, those of A B and those of A G.
inline std::size_t slice_bytes(const GemmProblem& p, int slices) {
  return slices == 1
             ? 0
             : static_cast<std::size_t>(p.batch * slices * (p.gate ? 2 : 1) * p.m * gemm_kernels::slice_pitch(p.n)) *
                   static_cast<std::size_t>(gemm_kernels::staged_bytes(p.dtype));
}

}  // namespace ridge::gemm_detail
