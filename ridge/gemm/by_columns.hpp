// When Family::wgmma stores D by columns (sm90_epilogue.cuh), and what it then adds tile by tile. Shared by launch and
// model.
#pragma once
#include <ridge/gemm/repack.hpp>

namespace ridge::gemm_detail {

// Whether D or an addend of type `out` has the layout that TMA and column stores need: rows are whole vectors, because
// for a 1x1 matrix of f16 TMA would store four bytes.
inline bool has_tma_layout(const GemmProblem& p, const GemmOperand& o, DType out) {
  return o.dtype == out && p.n * static_cast<std::int64_t>(size_of(out)) % access_bytes == 0 && o.col_stride == 1 &&
         tma_reads(o, o.row_stride, p.m);
}

// The tensor added to D's tiles: C without a residual, or a residual without C; null: none, or both.
inline const GemmOperand* tile_addend(const GemmProblem& p) {
  if (p.c && p.residual_layout) return nullptr;
  return p.c ? &*p.c : p.residual_layout ? &*p.residual_layout : nullptr;
}

// Whether ColumnEpilogue serves a row of the table with D of type `out`: only a bias along N and what TMA can load are
// added.
inline bool is_by_columns(const Config& c, const GemmProblem& p, DType out) {
  if (*p.out != out || !has_tma_layout(p, *p.d, out) || p.bias == GemmBias::along_m) return false;
  if (!p.c && !p.residual_layout) return true;
  const GemmOperand* addend = tile_addend(p);
  return addend && has_tma_layout(p, *addend, out) && takes_addend(c, static_cast<int>(size_of(out)));
}

// The same for D's own type: that of 16-bit operands, or float32; bf16 or float32 for 8-bit floats; float32 for TF32.
inline bool is_by_columns(const Config& c, const GemmProblem& p) {
  const DType out = *p.out;
  const bool of_floats = p.dtype == f8e4m3 || p.dtype == f8e5m2;
  const bool stored = size_of(p.dtype) == 2 || p.dtype == f32 ? out == p.dtype || (out == f32 && stores_float(c))
                                                              : of_floats && (out == bf16 || out == f32);
  return stored && is_by_columns(c, p, out);
}

}  // namespace ridge::gemm_detail
