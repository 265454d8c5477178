// Config: what one attention kernel is made with, and every fact about it that host and kernel share.
#pragma once
#include <ridge/core/dtype.hpp>

#include <cstdint>

namespace ridge::attention_kernels {

enum class Family : std::uint8_t {
  naive,           // textbook.cuh: a block per query, three passes over the keys in global memory
  tiled,           // textbook.cuh: a thread per score of a tile, online softmax
  register_tile,   // register_tile.cuh: a tile of scores and one of O in each thread's registers
  gradient_tile,   // gradient_tile.cuh: gradients, of tiles in each thread's registers
  mma_sync,        // sm80_mma.cuh: tensor cores that warps feed from registers, from Ampere on
  mma_gradient,    // sm80_gradient.cuh: gradients by the same
  wgmma,           // sm90_wgmma.cuh: Hopper's, which read shared memory that TMA fills
  decode,          // sm90_decode.cuh: few queries; warps with keys of their own, which TMA brings
  decode_one,      // sm90_decode_one.cuh: one query; a warp that loads, and little code for the others
  wgmma_gradient,  // sm90_gradient.cuh: gradients by the same
  wgmma_terms,     // sm90_terms.cuh: float32 by the same, each number as three of bf16
};

// What runs beside what in Family::wgmma: the steps of the ladder.
enum class Schedule : std::uint8_t {
  alone,  // sm90_steps.cuh: all warps have all to do, one thing after the other; TMA brings the next tile meanwhile
  turns,  // a warpgroup loads; multipliers take turns, and one's exponentials run beside another's products
  overlapped,  // and beside its own
};

struct Config {
  Family family = Family::naive;
  int bm = 1, bn = 1;     // queries of a block, and keys that it attends to at a time; of gradients, rows that a block
                          // owns, queries or keys, and of the other side's that it meets at a time
  int d = 256, dv = 256;  // the most columns of Q and K, and of V
  int threads = 128;
  int rows = 1;           // of bm, of a thread (register_tile, gradient_tile) or of a warp (mma_sync, mma_gradient)
  bool split = false;     // blocks may attend to parts of the keys, to be merged after, and share them among heads
  int blocks_per_sm = 1;  // least residency asked of the compiler
  int stages = 2;         // tiles of K, and of V, that shared memory holds (wgmma), or each warp's part of it (decode);
                          // panels of either (wgmma_terms)
  bool turned = true;     // Q and K on their way to shared memory (register_tile)
  Schedule schedule = Schedule::overlapped;  // (wgmma)
  bool masks = false;                        // it takes a mask tensor, and has room for a tile of it (wgmma_gradient)
  bool operator==(const Config&) const = default;
};

// Whether every device runs it, and the CPU.
constexpr bool is_portable(const Config& c) {
  return c.family != Family::mma_sync && c.family != Family::mma_gradient && c.family != Family::wgmma &&
         c.family != Family::decode && c.family != Family::decode_one && c.family != Family::wgmma_gradient &&
         c.family != Family::wgmma_terms;
}

// Whether it is a step of the ladder alone, which is compiled for one 16-bit type.
constexpr bool is_step(const Config& c) { return c.schedule != Schedule::overlapped; }

// Whether sequences may be of uneven lengths. The widest of Hopper's rows, that of four multipliers and steps have no
// instance for it, and its gradients none.
constexpr bool takes_lengths(const Config& c) {
  if (c.family == Family::wgmma) return c.d <= 128 && c.bm < 256 && !is_step(c);
  return c.family != Family::wgmma_gradient;
}

// Whether a mask tensor is taken. Steps have no instance for it, nor have rows of more than two multipliers, whose
// registers leave no room for it.
constexpr bool takes_masks(const Config& c) {
  if (c.family == Family::wgmma) return c.bm <= 128 && !is_step(c);
  if (c.family == Family::wgmma_gradient) return c.masks;
  return c.family != Family::wgmma_terms && c.family != Family::decode && c.family != Family::decode_one;
}

// ---- Family::register_tile: tiles of float32 in shared memory -----------------------------------------------------
// Q^T [d][bm + pad], K^T [d][bn + pad], V [bn][dv], P^T [bn][bm + pad]: every product walks down columns of both of its
// operands, whose neighbours 16-byte accesses read.

inline constexpr int fragment = 4;  // floats of a 16-byte access
inline constexpr int pad = 4;       // puts 4 rows that follow each other into banks of their own
constexpr int lanes_m(const Config& c) { return c.bm / c.rows; }           // threads along the queries
constexpr int lanes_n(const Config& c) { return c.threads / lanes_m(c); }  // and along keys and columns of V
constexpr int tile_floats(const Config& c) {
  return c.d * (c.bm + pad) + c.d * (c.bn + pad) + c.bn * c.dv + c.bn * (c.bm + pad);
}

// ---- Family::gradient_tile: tiles of float32 in shared memory -----------------------------------------------------
// Rows of either side as they are, [bm or bn][d + pad] and [..][dv + pad], weights turned, [bn][bm + pad], and
// facts of each query. The padding puts rows that follow each other into banks of their own.

inline constexpr int query_facts_bytes = 16;
constexpr int gradient_floats(const Config& c) {
  const int facts = (c.bm > c.bn ? c.bm : c.bn) * query_facts_bytes / 4;
  return (c.bm + c.bn) * (c.d + pad + c.dv + pad) + c.bn * (c.bm + pad) + facts;
}

// ---- Family::mma_sync: tiles of 16-bit elements -------------------------------------------------------------------
// Q [bm][d], and two stages of K [bn][d] and V [bn][dv], each in panels of 64 columns, [panels][rows][64], whose rows
// are one line of 128 bytes. O leaves through Q's place.

inline constexpr int panel = 64;
constexpr int panels(int columns) { return (columns + panel - 1) / panel; }
constexpr int mma_tile_bytes(int rows, int columns) { return panels(columns) * rows * panel * 2; }
inline constexpr int mma_stages = 2;  // one is used while the other is filled
constexpr int mma_q_bytes(const Config& c) { return mma_tile_bytes(c.bm, c.d > c.dv ? c.d : c.dv); }

// ---- Family::mma_gradient: a block's own rows of a side, Q and dO or K and V, [bm][d] each; two stages of the
// other's, [bn][d] each, and of query_facts_bytes of each query.

constexpr int mma_gradient_stage_bytes(const Config& c) {
  return 2 * mma_tile_bytes(c.bn, c.d) + c.bn * query_facts_bytes;
}
constexpr int mma_gradient_bytes(const Config& c) {
  return 2 * mma_tile_bytes(c.bm, c.d) + mma_stages * mma_gradient_stage_bytes(c);
}

// ---- Family::wgmma: the same, by `stages`; a warpgroup of the block loads, the others have 64 queries each ----------

constexpr int wgmma_barrier_bytes(const Config& c) {
  return c.bm / 64 * 4 * 8 + c.stages * (5 * 8 + 4) + c.stages % 2 * 4;
}
constexpr int wgmma_tile_bytes(const Config& c) {
  return mma_q_bytes(c) + c.stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv)) + wgmma_barrier_bytes(c);
}
// O leaves through a place of its own, so that the next tile of queries can come meanwhile: as many of its columns at a
// time as there is room for.
inline constexpr int hopper_smem = 232448;  // of a block
constexpr int wgmma_o_columns(const Config& c) {
  int columns = c.dv;
  while (columns > panel && wgmma_tile_bytes(c) + mma_tile_bytes(c.bm, columns) > hopper_smem) do
      columns -= panel;
    while (c.dv % columns != 0);
  return columns;
}
constexpr int wgmma_o_bytes(const Config& c) { return mma_tile_bytes(c.bm, wgmma_o_columns(c)); }
// A tile of a mask of 16 bits, [bm][bn], behind O's place: where there is room for one, and multipliers have as many
// tiles each.
constexpr int wgmma_mask_bytes(const Config& c) { return mma_tile_bytes(c.bm, c.bn); }
constexpr bool brings_masks(const Config& c) {
  return c.family == Family::wgmma && takes_masks(c) && c.bm <= c.bn &&
         wgmma_tile_bytes(c) + wgmma_o_bytes(c) + wgmma_mask_bytes(c) <= hopper_smem;
}

// ---- Family::decode: Q [bm][d] in panels, and each warp's ring of `stages` tiles of K [bn][d] and V [bn][dv] --------

// Warps that multiply; of Family::decode_one the last one loads.
constexpr int decode_warps(const Config& c) { return c.threads / 32 - (c.family == Family::decode_one ? 1 : 0); }
constexpr int decode_stage_bytes(const Config& c) { return mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv); }
constexpr int decode_bytes(const Config& c) {
  const int rings = decode_warps(c) * c.stages;
  return mma_tile_bytes(c.bm, c.d) + rings * decode_stage_bytes(c) + rings * 8;  // and a barrier for each stage
}

// ---- Family::decode_one: Q [8][d] in panels, a ring of tiles of K [bn][d] and V [bn][dv], a part of each multiplying
// warp, and two barriers for each tile of the ring, one, and a mark.
// A part: of each of 8 rows the weights' sum and the score that they are relative to, and then O [rows][dv + pad], not
// yet divided by the sum. Warps leave it in shared memory, blocks in the workspace, where `rows` are those that there
// are.

constexpr int decode_part_rows(const Config& c, std::int64_t heads) {  // of heads that share K and V
  return heads < c.bm ? static_cast<int>(heads) : c.bm;
}
constexpr int decode_part_floats(const Config& c, int rows) { return 2 * c.bm + rows * (c.dv + pad); }
constexpr int decode_ring_tiles(const Config& c) { return decode_warps(c) * c.stages; }
constexpr int decode_ring_bytes(const Config& c) { return decode_ring_tiles(c) * decode_stage_bytes(c); }
constexpr int decode_one_bytes(const Config& c) {
  return mma_tile_bytes(c.bm, c.d) + decode_ring_bytes(c) + decode_warps(c) * decode_part_floats(c, c.bm) * 4 +
         (2 * decode_ring_tiles(c) + 1) * 8 + 8;
}
// Parts that there is room for where they are brought together, in the ring's place.
constexpr int decode_most_parts(const Config& c) { return decode_ring_bytes(c) / (decode_part_floats(c, c.bm) * 4); }

// ---- Family::wgmma_gradient: a block owns bm keys ------------------------------------------------------------------
// K [bm][d] and V [bm][dv]; stages of Q [bn][d], dO [bn][dv] and dX [bm][bn], all in panels, and of two floats of each
// query; of dQ [bn][d] in float32; a tile of the mask. Where multipliers have roles (sm90_gradient_wide.cuh) dQ leaves
// from registers, and dX, in whose place weights were, has more stages.

// One tile of sums is added to dQ while the other is filled; the place of the second one is a mask's.
constexpr int gradient_sums_stages(const Config& c) { return c.masks ? 1 : 2; }
// Where there are roles: a block that waits for its turn goes on so long. The last one's place is a mask's.
constexpr int gradient_x_stages(const Config& c) { return c.masks ? 3 : 4; }
constexpr bool has_gradient_roles(const Config& c) { return c.family == Family::wgmma_gradient && c.bm == 64; }
// Parts of a tile of dQ that blocks add to one after another: the next block begins when the first part is there.
constexpr int gradient_turns_of_tile(const Config& c) { return has_gradient_roles(c) ? 2 : 1; }
inline constexpr int mask_copy_unit = 8;  // elements of 16 bytes, on which rows of a mask's copy begin
constexpr int wgmma_gradient_barrier_bytes(const Config& c) {
  return has_gradient_roles(c) ? (5 + c.stages * 4) * 8 + 6 * 4 : 3 * 8 + c.stages * (6 * 8 + 4) + 2 * 4;
}
// A tile of the mask tensor, [bn][bm] of the 16-bit type.
constexpr int gradient_mask_bytes(const Config& c) { return c.masks ? mma_tile_bytes(c.bn, c.bm) : 0; }
constexpr int wgmma_gradient_bytes(const Config& c) {
  const int x_stages = has_gradient_roles(c) ? gradient_x_stages(c) : c.stages;
  const int sums_stages = has_gradient_roles(c) ? 0 : gradient_sums_stages(c);
  return mma_tile_bytes(c.bm, c.d) + mma_tile_bytes(c.bm, c.dv) +
         c.stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv) + c.bn * 8) +
         x_stages * mma_tile_bytes(c.bm, c.bn) + sums_stages * c.bn * c.d * 4 + gradient_mask_bytes(c) +
         wgmma_gradient_barrier_bytes(c);
}

// ---- Family::wgmma_terms: tiles of bf16, three of each tile of float32 ----------------------------------------------
// Wide Q [bm][d], that of narrow heads is in registers; and a ring of `stages` panels [bn][64], a tile's of K and then
// those of V. Two barriers and a mark for each panel of the ring.

inline constexpr int terms = 3;  // of 8 bits each, as many as float32 has
constexpr int terms_tile_bytes(int rows, int columns) { return terms * mma_tile_bytes(rows, columns); }
constexpr bool terms_keep_q(const Config& c) { return c.d <= panel; }  // in registers
constexpr int terms_q_bytes(const Config& c) { return terms_keep_q(c) ? 0 : terms_tile_bytes(c.bm, c.d); }
constexpr int terms_slot_bytes(const Config& c) { return terms_tile_bytes(c.bn, panel); }
constexpr int terms_bytes(const Config& c) {
  return terms_q_bytes(c) + c.stages * (terms_slot_bytes(c) + 2 * 8 + 4) + c.stages % 2 * 4;
}

// Dynamic shared memory. `d` and `dv` are the problem's.
constexpr int smem_bytes(const Config& c, int d, int dv) {
  switch (c.family) {
    case Family::naive: return 0;
    case Family::tiled: return ((c.bm + c.bn) * (d + 1) + c.bn * dv) * 4;  // Q, K, V; a column of padding
    case Family::gradient_tile: return gradient_floats(c) * 4;
    case Family::register_tile: return tile_floats(c) * 4;
    case Family::mma_gradient: return mma_gradient_bytes(c);
    case Family::wgmma: return wgmma_tile_bytes(c) + wgmma_o_bytes(c);
    case Family::decode: return decode_bytes(c);
    case Family::decode_one: return decode_one_bytes(c);
    case Family::wgmma_gradient: return wgmma_gradient_bytes(c);
    case Family::wgmma_terms: return terms_bytes(c);
    default: return mma_q_bytes(c) + mma_stages * (mma_tile_bytes(c.bn, c.d) + mma_tile_bytes(c.bn, c.dv));
  }
}

}  // namespace ridge::attention_kernels
