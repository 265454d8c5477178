// When Family::wgmma stores D by columns (sm90_epilogue.cuh), and what it then adds tile by tile: facts that its launch
// and its model share.
#pragma once
#include <ridge/gemm/repack.hpp>

namespace ridge::gemm_detail {

// Whether D is of type `out`, as TMA and threads store it by columns: rows are whole accesses, for of a 1x1 matrix of
// f16 TMA would store four bytes.
inline bool lies_by_columns(const GemmProblem& p, const GemmOperand& o, DType out) {
  return o.dtype == out && p.n * static_cast<std::int64_t>(size_of(out)) % access_bytes == 0 && o.col_stride == 1 &&
         tma_reads(o, o.row_stride, p.m);
}

// What is added to D's tiles: C, if there is no residual, or a residual, if there is no C; null: nothing is, or both.
inline const GemmOperand* tile_addend(const GemmProblem& p) {
  if (p.c && p.residual_lies) return nullptr;
  return p.c ? &*p.c : p.residual_lies ? &*p.residual_lies : nullptr;
}

// Whether ColumnEpilogue serves a row of the table whose D is of type `out`: added are a bias along N, and what TMA can
// bring.
inline bool is_by_columns(const Config& c, const GemmProblem& p, DType out) {
  if (*p.out != out || !lies_by_columns(p, *p.d, out) || p.bias == GemmBias::along_m) return false;
  if (!p.c && !p.residual_lies) return true;
  const GemmOperand* addend = tile_addend(p);
  return addend && lies_by_columns(p, *addend, out) && takes_addend(c, static_cast<int>(size_of(out)));
}

// The same of the type that D has: that of operands of 16 bits, or float32; bf16 or float32 of 8-bit floats; float32 of
// TF32.
inline bool is_by_columns(const Config& c, const GemmProblem& p) {
  const DType out = *p.out;
  const bool of_floats = p.dtype == f8e4m3 || p.dtype == f8e5m2;
  const bool stored = size_of(p.dtype) == 2 || p.dtype == f32 ? out == p.dtype || (out == f32 && stores_float(c))
                                                              : of_floats && (out == bf16 || out == f32);
  return stored && is_by_columns(c, p, out);
}

}  // namespace ridge::gemm_detail
