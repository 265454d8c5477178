// How many rows ahead of the block that reads it a row is prefetched to the L2 cache (tile/l2_prefetch.cuh).
#pragma once
#include <ridge/core/device.hpp>

#include <cstdint>

namespace ridge::tile {

// The prefetch distance in rows, where a row has `threads` of a multiprocessor's 1,024: 3/8 of the rows under way at
// once; 0: no prefetch. Measured on an H200 for layer_norm: of 32,768 columns of float32, one row in a multiprocessor,
// 276 us without, 266 with an eighth, 258 to 261 with a quarter to a half, and 348 with all, for then the L2 cache has
// lost rows to what is written before they are read. Many short rows hide one another's waits already: below 16 KB it
// was up to 3 % slower.
inline std::int64_t prefetch_distance(const DeviceInfo& device, int threads, std::int64_t row_bytes) {
  constexpr std::int64_t threads_of_sm = 1024, least_bytes = 16 << 10;
  return device.cc >= 90 && row_bytes >= least_bytes ? device.sms * threads_of_sm * 3 / 8 / threads : 0;
}

}  // namespace ridge::tile
