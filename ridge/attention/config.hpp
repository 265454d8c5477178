// Config: the parameters of one attention kernel, and helpers for the shared memory of several. What is true of one
// algorithm alone stands in its family's header, beside its .cuh.
#pragma once
#include <ridge/core/dtype.hpp>

#include <cstdint>

namespace ridge::attention_kernels {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,           // naive.cuh: a block per query, three passes over the keys in global memory
  tiled,           // tiled.cuh: a thread per score of a tile, online softmax
  register_tile,   // register_tile.cuh: a tile of scores and one of O in each thread's registers
  gradient_tile,   // gradient_tile.cuh: gradients, with tiles in each thread's registers
  mma_sync,        // sm80_mma.cuh: tensor cores that warps feed from registers, from Ampere on
  mma_gradient,    // sm80_gradient.cuh: gradients with mma.sync
  wgmma,           // sm90_wgmma.cuh: Hopper's tensor cores, which read shared memory that TMA fills
  decode,          // sm90_decode.cuh: few queries; each warp loads keys of its own by TMA
  decode_one,      // sm90_decode_one.cuh: one query; a producer warp, and little code in the consumers
  wgmma_gradient,  // sm90_gradient.cuh: gradients with wgmma
  wgmma_terms,     // sm90_terms.cuh: float32 with wgmma, each number split into three bf16 components
  short_gradient,  // sm80_gradient_short.cuh: gradients of short sequences, a block for each key head, with mma.sync
  two_float,       // two_float.cuh: float32 in double-float arithmetic
};
inline constexpr int algorithm_count = 13;

// What overlaps in Algorithm::wgmma: the steps of the ladder.
enum class Schedule : std::uint8_t {
  alone,       // sm90_steps.cuh: no warp specialization, one step after the other; TMA loads the next tile meanwhile
  ping_pong,   // a producer warpgroup; two consumers ping-pong: exponentials of one overlap products of the other
  overlapped,  // and products of its own
};

struct Config {
  Algorithm algorithm = Algorithm::naive;
  int bm = 1, bn = 1;     // queries of a block, and keys per iteration; for gradients, rows that a block
                          // owns (queries or keys), and rows of the other side per iteration; for
                          // short_gradient, most keys and most queries
  int d = 256, dv = 256;  // largest number of columns of Q and K, and of V
  int threads = 128;
  int rows = 1;            // rows of bm per thread (register_tile, gradient_tile) or per warp (those with mma.sync)
  bool split = false;      // split-KV: blocks take parts of the keys, merged afterwards
  bool packed = false;     // a block's rows are the queries of all heads that share keys
  int blocks_per_sm = 1;   // least occupancy asked of the compiler
  int stages = 2;          // tiles of K, and of V, in shared memory (wgmma), or per warp (decode);
                           // panels of either (wgmma_terms)
  bool transposed = true;  // Q and K are transposed on the way to shared memory (register_tile)
  Schedule schedule = Schedule::overlapped;  // (wgmma)
  bool masks = false;                        // takes a mask tensor, with room for a tile of it (wgmma_gradient)
  bool operator==(const Config&) const = default;
};

// Whether this is only a step of the ladder, compiled for one 16-bit type.
constexpr bool is_step(const Config& c) { return c.schedule != Schedule::overlapped; }

// ---- tiles of float32 in shared memory: register_tile, gradient_tile

inline constexpr int fragment = 4;                                // floats per 16-byte access
inline constexpr int pad = 4;                                     // puts 4 consecutive rows into different banks
constexpr int lanes_m(const Config& c) { return c.bm / c.rows; }  // threads along the queries
constexpr int lanes_n(const Config& c) { return c.threads / lanes_m(c); }  // and along keys and columns of V

// ---- tiles of 16-bit elements in shared memory, for all tensor-core kernels: panels of 64 columns,
// [panels][rows][64]; a row of a panel is one line of 128 bytes

inline constexpr int panel = 64;
constexpr int panels(int columns) { return (columns + panel - 1) / panel; }
constexpr int mma_tile_bytes(int rows, int columns) { return panels(columns) * rows * panel * 2; }
inline constexpr int mma_stages = 2;  // one is used while the other is filled
// Q [bm][d]; O leaves through the same place.
constexpr int mma_q_bytes(const Config& c) { return mma_tile_bytes(c.bm, c.d > c.dv ? c.d : c.dv); }
// Shared memory of a block on Hopper: its share of a multiprocessor's 228 KB, less 1 KB that the system takes.
constexpr int hopper_smem(const Config& c) { return 233472 / c.blocks_per_sm - 1024; }

}  // namespace ridge::attention_kernels
