// Operands that TMA or wgmma cannot read in place are copied into the workspace before the product: rows that are not
// 16-byte aligned, strides in both axes, and for all but 16-bit types rows along M or N; for Family::tma_tile, rows
// along k of one operand, or of both. A skinny operand of 16-bit elements in tiles of 16 rows is gathered by the
// product's own warps instead, if k is short or the copy engine can load it unchanged. Shared by plan and launch.
#pragma once
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

#include <algorithm>

namespace ridge::gemm_detail {

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

// For Family::tma_tile: whether a K-major operand is transposed first although it may be the `down` one. Its rows would
// be gathered, and the compiler finds registers of different banks less often: 5 % of the time of large tiles.
// Transposing takes less where each element is used often.
inline bool transposes_down(const Config& c, const GemmProblem& p) {
  constexpr std::int64_t uses = 2048;
  return c.k_groups == 1 && std::min(p.m, p.n) > uses;
}

// For Family::wgmma_split: whether to swap A and B, so that B, the larger matrix, is the wide operand.
inline bool is_wider_across(const GemmProblem& p) { return p.n > p.m; }

// Clusters of `size` blocks that run at a time, one block per multiprocessor: the chip's groups of multiprocessors
// leave some over.
inline std::int64_t clusters_at_a_time(int sms, int size) {
  constexpr double left_over = 0.025;  // share of multiprocessors, for each block of a cluster but the first
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(sms * (1 - left_over * (size - 1)) / size));
}

// Rows of the wide operand in a tile. All multiprocessors get equal shares of memory's rate; where some have a tile
// more than others, tiles with fewer rows than the tensor cores take end earlier. Only for skinny operands of one tile,
// whose products are hidden by memory's time.
inline int split_wide_rows(const Config& c, const GemmProblem& p, int sms, int split, bool swap_ab) {
  constexpr std::int64_t step = 4;
  const std::int64_t rows = swap_ab ? p.n : p.m, skinny = swap_ab ? p.m : p.n;
  const auto ceil_of = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t at_a_time = clusters_at_a_time(sms, split);
  const bool along_k = (swap_ab ? major_of_b(p) : major_of_a(p)) != Major::outer || size_of(p.dtype) != 2;
  if (skinny > c.bn || skinny == 0 || p.batch == 0 || rows == 0 || !along_k) return c.bm;
  // The fewest rows on the fullest multiprocessor. Between a cluster's consecutive tiles there is a gap.
  const std::int64_t fewest = ceil_of(ceil_of(rows, c.bm) * p.batch, at_a_time),
                     further = split > 1 ? 0 : 2;  // tiles beyond the fewest that it may have
  std::int64_t least = 0, best = c.bm;
  for (std::int64_t tiles = fewest; tiles <= fewest + further; ++tiles) {
    const std::int64_t of_matrix = at_a_time * tiles / p.batch;
    if (of_matrix == 0) continue;
    const std::int64_t even = ceil_of(ceil_of(rows, of_matrix), step) * step;
    if (even <= c.bm && (least == 0 || tiles * even < least)) least = tiles * even, best = even;
  }
  return static_cast<int>(best);
}

// For a row of Hopper's families. Precondition: the problem has its operands.
inline Repack repack_of(const Config& c, const GemmProblem& p, bool swap_ab) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype)), line = wgmma_line_bytes / size;
  const auto whole_lines = [&](std::int64_t n) { return (n + line - 1) / line * line; };
  const bool tensor_cores = c.family != Family::tma_tile;
  const bool in_parts = tensor_cores && p.scalars.math == GemmMath::tf32x3;
  Repack r;
  if (in_parts) r.low = whole_lines(p.k);
  // as: the wanted layout; Major::none: its own, if it is contiguous along either axis.
  const auto repacked = [&](const GemmOperand& o, Major major, std::int64_t outer, std::int64_t outer_stride,
                            std::int64_t k_stride, Major as, std::size_t offset) {
    Repacked to{.major = as != Major::none ? as : major == Major::none ? Major::k : major};
    to.needed = in_parts || to.major != major ||
                !tma_reads(o, major == Major::k ? outer_stride : k_stride, major == Major::k ? outer : p.k);
    to.batch_stride = o.batch_stride;
    to.pitch = major == Major::k ? outer_stride : k_stride;
    if (!to.needed) return to;
    const bool along_k = to.major == Major::k;
    const std::int64_t rows = along_k ? outer : p.k;
    to.pitch = in_parts ? 2 * r.low : whole_lines(along_k ? p.k : outer);
    to.batch_stride = o.batch_stride ? rows * to.pitch : 0;
    to.offset = offset;
    to.bytes = static_cast<std::size_t>(rows * to.pitch * (o.batch_stride ? p.batch : 1) * size);
    return to;
  };
  const auto along_k_if = [](bool only) { return only ? Major::k : Major::none; };
  if (!tensor_cores) {  // the `across` operand must be contiguous along its other axis
    const auto as = [&](bool across) { return across || transposes_down(c, p) ? Major::outer : Major::none; };
    r.a = repacked(*p.a, major_of_a(p), p.m, p.a->row_stride, p.a->col_stride, as(swap_ab), 0);
    r.b = repacked(*p.b, major_of_b(p), p.n, p.b->col_stride, p.b->row_stride, as(!swap_ab), r.a.bytes);
    return r;
  }
  const bool wide_k = size != 2, skinny_k = wide_k || skinny_is_k_major(c);
  // Any length along k where the copy engine loads it unchanged; else only short ones, since the kernel would wait for
  // the threads' loads in many steps.
  const auto gathered = [&](const Repacked& to, const GemmOperand& o, std::int64_t rows, std::int64_t row_stride,
                            std::int64_t k_stride) {
    constexpr std::int64_t most_loaded = 1024;
    const bool bulk_copied = row_stride == 1 && rows <= k_stride && k_stride <= c.bn && starts_on(o, 0, access_bytes);
    if (!bulk_copied && p.k > most_loaded) return to;
    return split_gathers(c) && size == 2 && to.needed ? Repacked{.major = Major::none, .batch_stride = o.batch_stride}
                                                      : to;
  };
  r.a = repacked(*p.a, major_of_a(p), p.m, p.a->row_stride, p.a->col_stride,
                 along_k_if((swap_ab ? skinny_k : wide_k) || a_is_k_major(c)), 0);
  if (swap_ab) r.a = gathered(r.a, *p.a, p.m, p.a->row_stride, p.a->col_stride);
  r.b = repacked(*p.b, major_of_b(p), p.n, p.b->col_stride, p.b->row_stride, along_k_if(swap_ab ? wide_k : skinny_k),
                 r.a.bytes);
  if (!swap_ab) r.b = gathered(r.b, *p.b, p.n, p.b->col_stride, p.b->row_stride);
  if (p.gate_layout) {
    const GemmOperand& g = *p.gate_layout;
    r.gate = repacked(g, major_of_gate(p), p.n, g.col_stride, g.row_stride, r.b.major, r.a.bytes + r.b.bytes);
  }
  return r;
}

}  // namespace ridge::gemm_detail
