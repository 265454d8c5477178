// Where D has fewer tiles than a device has multiprocessors and k is long, blocks share a tile's products: each slice of k
// has its sums in the workspace, and a second kernel adds them up in the slices' order. Facts that plan and launch share.
#pragma once
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {

inline constexpr int max_slices = 256;

// Whether a row may work in slices. Sums of signed bytes are to be added up as integers, and are where D is of them.
inline bool has_slices(const Config& c, const GemmProblem& p) {
  return (c.family == Family::thread_tile || c.family == Family::mma_sync) && !c.gated && !c.grouped &&
         (p.dtype != i8 || *p.out == i32);
}

// How k is cut into at most `wanted` slices of whole steps.
struct Slices {
  int count = 1;
  std::int64_t k = 0;  // of each but the last
};
inline Slices slices_of(const Config& c, std::int64_t k, int wanted) {
  const std::int64_t steps = (k + c.bk - 1) / c.bk;
  if (wanted <= 1 || steps <= 1) return {1, k};
  const std::int64_t of_each = (steps + wanted - 1) / wanted;
  return {static_cast<int>((steps + of_each - 1) / of_each), of_each * c.bk};
}

// The sums in the workspace: [batch][slices][m][pitch], rows of whole accesses.
inline std::int64_t slice_pitch(const GemmProblem& p) { return (p.n + 3) / 4 * 4; }
inline std::size_t slice_bytes(const GemmProblem& p, int slices) {
  return slices == 1 ? 0
                     : static_cast<std::size_t>(p.batch * slices * p.m * slice_pitch(p)) *
                           static_cast<std::size_t>(gemm_kernels::staged_bytes(p.dtype));
}

}  // namespace ridge::gemm_detail
