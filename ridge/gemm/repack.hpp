// Operands that TMA or wgmma cannot read in place are copied into the workspace before the product: rows that are not
// 16-byte aligned, strides in both axes, and rows along another axis than the kernel reads. Which axis that is, each of
// Hopper's families says in its repack_of(). Shared by plan and launch.
#pragma once
#include <ridge/gemm/layout.hpp>
#include <ridge/tile/sm90/swizzle.hpp>

namespace ridge::gemm_detail {

using gemm_kernels::access_bytes;

// An operand as the kernel reads it.
struct Repacked {
  bool needed = false;                       // else it is read in place
  Major major = Major::k;                    // none: gathered in place
  std::int64_t pitch = 0, batch_stride = 0;  // in elements; pitch: between neighbours in the non-contiguous axis
  std::size_t offset = 0, bytes = 0;         // in the workspace
};
struct Repack {
  Repacked a, b, gate;
  std::int64_t low = 0;  // math=3xtf32: position along k of the low parts
  std::size_t bytes() const { return a.bytes + b.bytes + gate.bytes; }
  bool needed() const { return a.needed || b.needed || gate.needed; }
};

// Whether TMA reads an operand with rows `pitch` apart.
inline bool tma_reads(const GemmOperand& o, std::int64_t pitch, std::int64_t rows) {
  return starts_on(o, pitch, access_bytes) && (rows <= 1 || pitch > 0) && o.batch_stride >= 0;
}

// An operand as it is given, [outer, k].
struct Given {
  const GemmOperand& layout;
  Major major;
  std::int64_t outer, outer_stride, k_stride;
};
inline Given given_a(const GemmProblem& p) { return {*p.a, major_of_a(p), p.m, p.a->row_stride, p.a->col_stride}; }
inline Given given_b(const GemmProblem& p) { return {*p.b, major_of_b(p), p.n, p.b->col_stride, p.b->row_stride}; }
inline Given given_gate(const GemmProblem& p) {
  return {*p.gate_layout, major_of_gate(p), p.n, p.gate_layout->col_stride, p.gate_layout->row_stride};
}

// `n` elements along a row, filled up to whole lines of the swizzle.
inline std::int64_t whole_lines(const GemmProblem& p, std::int64_t n) {
  const std::int64_t line = tile::sm90::line_bytes / static_cast<std::int64_t>(size_of(p.dtype));
  return (n + line - 1) / line * line;
}

// as: the wanted layout; Major::none: its own, if it is contiguous along either axis. low: Repack::low, with which
// every operand is copied in two parts; else 0.
inline Repacked repacked(const GemmProblem& p, const Given& o, Major as, std::size_t offset, std::int64_t low = 0) {
  Repacked to{.major = as != Major::none ? as : o.major == Major::none ? Major::k : o.major};
  to.needed =
      low != 0 || to.major != o.major ||
      !tma_reads(o.layout, o.major == Major::k ? o.outer_stride : o.k_stride, o.major == Major::k ? o.outer : p.k);
  to.batch_stride = o.layout.batch_stride;
  to.pitch = o.major == Major::k ? o.outer_stride : o.k_stride;
  if (!to.needed) return to;
  const bool along_k = to.major == Major::k;
  const std::int64_t rows = along_k ? o.outer : p.k;
  to.pitch = low != 0 ? 2 * low : whole_lines(p, along_k ? p.k : o.outer);
  to.batch_stride = o.layout.batch_stride ? rows * to.pitch : 0;
  to.offset = offset;
  to.bytes = static_cast<std::size_t>(rows * to.pitch * (o.layout.batch_stride ? p.batch : 1) *
                                      static_cast<std::int64_t>(size_of(p.dtype)));
  return to;
}

}  // namespace ridge::gemm_detail
