// Split-K where D has few tiles for a device's multiprocessors and k is long: each slice of k stores its sums to the
// workspace, and a second kernel adds them up in an order that the sizes determine. Shared by plan and launch.
#pragma once
#include <ridge/gemm/add_slices.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {

// Whether a row may use slices. Sums of signed bytes must be added as integers, and are if D is i32.
inline bool has_slices(const Config& c, const GemmProblem& p) {
  return (c.family == Family::thread_tile || c.family == Family::mma_sync) && !c.gated && !c.grouped &&
         (p.dtype != i8 || *p.out == i32);
}

inline Slices slices_of(const Config& c, std::int64_t k, int wanted) {
  return gemm_kernels::slices_of(c.bk, k, wanted);
}

// Bytes of the sums in the workspace.
inline std::size_t slice_bytes(const GemmProblem& p, int slices) {
  return slices == 1 ? 0
                     : static_cast<std::size_t>(p.batch * slices * p.m * gemm_kernels::slice_pitch(p.n)) *
                           static_cast<std::size_t>(gemm_kernels::staged_bytes(p.dtype));
}

}  // namespace ridge::gemm_detail
