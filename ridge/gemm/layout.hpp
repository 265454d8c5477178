// What a problem's strides mean to kernels.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/gemm.hpp>

namespace ridge::gemm_detail {

using gemm_kernels::Major;

// alpha == 0 reads neither A nor B: the product then has no terms, as with K == 0.
inline std::int64_t products(const GemmProblem& p) { return p.scalars.alpha == 0 ? 0 : p.k; }

// An axis of one element counts as contiguous.
inline Major major_of(std::int64_t outer_stride, std::int64_t k_stride, std::int64_t outer, std::int64_t k) {
  if (k_stride == 1) return Major::k;
  if (outer_stride == 1) return Major::outer;
  return k <= 1 ? Major::k : outer <= 1 ? Major::outer : Major::none;
}
inline Major major_of_a(const GemmProblem& p) { return major_of(p.a->row_stride, p.a->col_stride, p.m, p.k); }
inline Major major_of_b(const GemmProblem& p) { return major_of(p.b->col_stride, p.b->row_stride, p.n, p.k); }
inline Major major_of_gate(const GemmProblem& p) {
  return major_of(p.gate_layout->col_stride, p.gate_layout->row_stride, p.n, p.k);
}

inline bool is_two_float(const GemmProblem& p) { return p.scalars.accumulate == Accumulate::two_float; }

// The layout of the BLAS.
inline GemmLayout layout_of(const GemmProblem& p) {
  if (!p.a || !p.b) return p.layout;
  const bool a = major_of_a(p) == Major::outer, b = major_of_b(p) == Major::k;
  return static_cast<GemmLayout>(2 * a + b);
}

// Whether every row is aligned to `bytes`, at most 16; `pitch` is the stride between rows.
inline bool starts_on(const GemmOperand& o, std::int64_t pitch, std::int64_t bytes) {
  const auto size = static_cast<std::int64_t>(size_of(o.dtype));
  return o.alignment_offset % bytes == 0 && pitch * size % bytes == 0 && o.batch_stride * size % bytes == 0;
}

}  // namespace ridge::gemm_detail
