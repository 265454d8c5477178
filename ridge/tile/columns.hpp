// ColumnBlock: how the threads of a block share columns, results whose elements are neighbours of other results'
// elements. Shared by plans and kernels; columns.cuh is the kernels' side.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ridge::tile {

// The threads are [groups, depth, lanes]: lanes have neighbouring results, and `depth` threads share a result.
struct ColumnBlock {
  int lanes = 1, depth = 1, groups = 1;
};

// The most lanes for 16-byte accesses: 512 contiguous bytes of a row of the matrix, and as few as 128 where there would
// not be enough blocks to keep a chip busy. Blocks of fewer columns have longer ones, which need fewer slices, at best
// one.
//   accesses: of a row of the matrix, in all
constexpr int column_lanes(std::int64_t accesses) {
  constexpr std::int64_t enough_blocks = 512;
  int lanes = 32;
  while (lanes > 8 && accesses <= enough_blocks * (lanes / 2)) lanes /= 2;
  return lanes;
}

// beside: accesses of a row of the matrix;  iterations: of one thread, if it had a column's elements to itself
// Precondition: threads and most_lanes are powers of two.
constexpr ColumnBlock column_block(int threads, int most_lanes, std::int64_t beside, std::int64_t iterations) {
  const auto power_of_two = [](std::int64_t n, int most) {  // the least from n on, and at most `most`
    int power = 1;
    while (power < n && power < most) power *= 2;
    return power;
  };
  ColumnBlock k;
  k.lanes = power_of_two(beside, std::min(most_lanes, threads));
  k.depth = power_of_two(iterations, threads / k.lanes);
  k.groups = threads / (k.lanes * k.depth);
  return k;
}

// How many slices the work of `blocks` blocks is cut into so that as few blocks as possible fill `places`, the blocks
// that the chip holds at a time, to the end: one to four waves, and more waves only where they use the last one better.
//   idle: what an empty place costs, as a share of its work; below 1 where the others then have more of the memory
constexpr std::int64_t whole_waves(std::int64_t blocks, std::int64_t places, double idle = 1) {
  constexpr std::int64_t most_waves = 4, cost_of_wave = 24;  // a wave costs a 24th of the time
  std::int64_t best = 1;
  double least = 0;
  for (std::int64_t slices = 1; slices == 1 || slices * blocks <= most_waves * places; ++slices) {
    const std::int64_t waves = (slices * blocks + places - 1) / places;
    const double empty = 1 - static_cast<double>(slices * blocks) / static_cast<double>(waves * places),
                 lost = idle * empty + static_cast<double>(waves) / cost_of_wave;
    if (slices == 1 || lost < least) best = slices, least = lost;
  }
  return best;
}

}  // namespace ridge::tile
