// Stream-K: the steps along k of the last tiles are cut into equal ranges, one for each block, so that no block idles
// in a last wave. The tiles before them are computed whole, wave after wave. A block's range ends in a tile whose rest
// other blocks have computed meanwhile: theirs, the first thing they did, it adds to its own sums, in the order of k.
//
// Where there is a whole wave or more, the last one is cut too: ranges are then longer than a tile, so that each tile
// has two blocks at most.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/tile/last_block.hpp>

namespace ridge::gemm_kernels {

inline constexpr unsigned least_range = 8;  // steps of a range; shorter ones cost more than they share
inline constexpr unsigned least_part = 4;   // steps of a tile that a block computes: less is left to its neighbour
inline constexpr unsigned most_blocks_of_tile = 4;

// Blocks for so many tiles of `steps` steps, on so many multiprocessors.
RIDGE_HD constexpr unsigned stream_k_blocks(std::int64_t tiles, std::int64_t steps, int sms) {
  const std::int64_t most = tiles * most_blocks_of_tile, long_enough = tiles * steps / least_range;
  const std::int64_t blocks = most < long_enough ? most : long_enough;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < sms ? blocks : sms);
}

// Positions are steps of the shared tiles, one tile after another.
struct StreamK {
  unsigned whole, shared, steps, blocks;  // tiles that blocks have alone, and those that are cut; of a tile; ranges

  RIDGE_HD constexpr StreamK(unsigned tiles, unsigned steps_of_tile, unsigned blocks_of_launch)
      : whole(tiles), shared(0), steps(steps_of_tile), blocks(blocks_of_launch) {
    const unsigned rest = tiles % blocks;
    if (rest == 0) return;
    shared = tiles > blocks ? rest + blocks : rest;
    whole = tiles - shared;
  }
  // Where a range begins; of range `blocks`, where the last one ends.
  RIDGE_HD constexpr unsigned begin(unsigned range) const {
    const unsigned at = range * (shared * steps) / blocks, in_tile = at % steps;
    if (in_tile < least_part) return at - in_tile;
    return steps - in_tile < least_part ? at + (steps - in_tile) : at;
  }
};
// Whether it counts in 32 bits: blocks * (shared * steps), where at most two waves are shared.
RIDGE_HD constexpr bool stream_k_counts(std::int64_t tiles, std::int64_t steps, int sms) {
  const std::int64_t shared = tiles < 2 * std::int64_t{sms} ? tiles : 2 * std::int64_t{sms};
  return tiles <= max_tiles && shared * steps <= 0xffffffff / sms;
}

// Memory for the exchange: each block's sums of its first part, [blocks][bm][bn] of float, then flags,
// [blocks][consumers].
constexpr std::size_t stream_k_sums_bytes(const Config& c, unsigned blocks) {
  return std::size_t{blocks} * static_cast<std::size_t>(c.bm * c.bn) * sizeof(float);
}
constexpr std::size_t stream_k_bytes(const Config& c, unsigned blocks, int consumers) {
  return stream_k_sums_bytes(c, blocks) +
         std::size_t{blocks} * static_cast<std::size_t>(consumers) * sizeof(tile::Arrivals);
}

}  // namespace ridge::gemm_kernels
