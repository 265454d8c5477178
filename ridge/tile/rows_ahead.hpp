// How far ahead of the rows that blocks work on others are brought to the L2 cache (tile/rows_ahead.cuh).
#pragma once
#include <ridge/core/device.hpp>

#include <cstdint>

namespace ridge::tile {

// Of rows that are `threads` of a multiprocessor's 1,024 each: 3/8 of those under way at once; 0 where nothing brings
// them. Measured on an H200 for layer_norm: of 32,768 columns of float32, one row in a multiprocessor, 276 us without,
// 266 with an eighth, 258 to 261 with a quarter to a half, and 348 with all, for then the L2 cache has lost rows to
// what is written before they are read. Many short rows hide one another's waits already: below 16 KB it was up to 3 %
// slower.
inline std::int64_t rows_ahead(const DeviceInfo& device, int threads, std::int64_t row_bytes) {
  constexpr std::int64_t threads_of_sm = 1024, least_bytes = 16 << 10;
  return device.cc >= 90 && row_bytes >= least_bytes ? device.sms * threads_of_sm * 3 / 8 / threads : 0;
}

}  // namespace ridge::tile
