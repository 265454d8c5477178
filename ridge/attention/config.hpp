// Config: what one attention kernel is made with, and words for the shared memory of several. What is true of one
// algorithm's rows alone stands in its family's header, beside its .cuh.
#pragma once
#include <ridge/core/dtype.hpp>

#include <cstdint>

namespace ridge::attention_kernels {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,           // naive.cuh: a block per query, three passes over the keys in global memory
  tiled,           // tiled.cuh: a thread per score of a tile, online softmax
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
inline constexpr int algorithm_count = 11;

// What runs beside what in Algorithm::wgmma: the steps of the ladder.
enum class Schedule : std::uint8_t {
  alone,  // sm90_steps.cuh: all warps have all to do, one thing after the other; TMA brings the next tile meanwhile
  turns,  // a warpgroup loads; multipliers take turns, and one's exponentials run beside another's products
  overlapped,  // and beside its own
};

struct Config {
  Algorithm algorithm = Algorithm::naive;
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

// Whether it is a step of the ladder alone, which is compiled for one 16-bit type.
constexpr bool is_step(const Config& c) { return c.schedule != Schedule::overlapped; }

// ---- tiles of float32 in shared memory: register_tile, gradient_tile

inline constexpr int fragment = 4;  // floats of a 16-byte access
inline constexpr int pad = 4;       // puts 4 rows that follow each other into banks of their own
constexpr int lanes_m(const Config& c) { return c.bm / c.rows; }           // threads along the queries
constexpr int lanes_n(const Config& c) { return c.threads / lanes_m(c); }  // and along keys and columns of V

// ---- tiles of 16-bit elements in shared memory, of all kernels for tensor cores: panels of 64 columns,
// [panels][rows][64], whose rows are one line of 128 bytes

inline constexpr int panel = 64;
constexpr int panels(int columns) { return (columns + panel - 1) / panel; }
constexpr int mma_tile_bytes(int rows, int columns) { return panels(columns) * rows * panel * 2; }
inline constexpr int mma_stages = 2;  // one is used while the other is filled
// Q [bm][d], through whose place O leaves.
constexpr int mma_q_bytes(const Config& c) { return mma_tile_bytes(c.bm, c.d > c.dv ? c.d : c.dv); }
inline constexpr int hopper_smem = 232448;  // of a block

}  // namespace ridge::attention_kernels
