// The block size that occupancy would pick: the occupancy calculator, over all sizes of a block.
#pragma once
#include <ridge/roofline/occupancy.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ridge::roofline {

struct BlockSize {
  int threads = 0;
  double share = 0;  // resident threads over what the multiprocessor holds
};

// The size with the highest occupancy, and of several the one nearest to the block's own. A thread's registers stay as
// they are. Shared memory grows with the threads, as that of a tile does: if it stayed, larger blocks would seem to
// hold more threads in one tile.
inline BlockSize block_size_by_occupancy(const DeviceInfo& device, const Resources& block) {
  constexpr int most_threads = 1024;
  BlockSize best{block.threads, occupancy(device, block).share};
  for (int threads = device.warp; threads <= most_threads; threads += device.warp) {
    const std::int64_t smem = (std::int64_t{block.smem} * threads + block.threads - 1) / std::max(block.threads, 1);
    if (smem > device.smem_optin) break;
    Resources other = block;
    other.threads = threads;
    other.smem = static_cast<int>(smem);
    const double share = occupancy(device, other).share;
    const bool nearer = std::abs(threads - block.threads) < std::abs(best.threads - block.threads);
    if (share > best.share || (share == best.share && nearer)) best = {threads, share};
  }
  return best;
}

}  // namespace ridge::roofline
