// Where D has few tiles for a device's multiprocessors and k is long, blocks share a tile's products: each slice of k
// has its sums in the workspace, and a second kernel adds them up in an order that the sizes give.
// Facts that plan and launch share.
#pragma once
#include <ridge/gemm/add_slices.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {

// Whether a row may work in slices. Sums of signed bytes are to be added up as integers, and are where D is of them.
inline bool has_slices(const Config& c, const GemmProblem& p) {
  return (c.family == Family::thread_tile || c.family == Family::mma_sync) && !c.gated && !c.grouped &&
         (p.dtype != i8 || *p.out == i32);
}

inline Slices slices_of(const Config& c, std::int64_t k, int wanted) {
  return gemm_kernels::slices_of(c.bk, k, wanted);
}

// The sums in the workspace.
inline std::size_t slice_bytes(const GemmProblem& p, int slices) {
  return slices == 1 ? 0
                     : static_cast<std::size_t>(p.batch * slices * p.m * gemm_kernels::slice_pitch(p.n)) *
                           static_cast<std::size_t>(gemm_kernels::staged_bytes(p.dtype));
}

}  // namespace ridge::gemm_detail
