// How a grid lies on a device: blocks per multiprocessor, waves, tiles, bytes in flight. The textbook's quantities.
#pragma once
#include <ridge/core/device.hpp>

#include <cstdint>
#include <string_view>

namespace ridge::roofline {

// What one block takes of a multiprocessor.
struct Resources {
  int threads = 256;
  int registers = 0;  // of a thread; 0: no limit known
  int smem = 0;       // bytes, static and dynamic
};

struct Occupancy {
  int blocks = 0;            // resident on a multiprocessor at once; 0: the block does not fit
  std::string_view limiter;  // threads, blocks, registers or shared memory; the first of them that allows no more
  double share = 0;          // resident threads over what the multiprocessor holds
};
RIDGE_API Occupancy occupancy(const DeviceInfo&, const Resources&);

// Clusters of so many blocks, each alone on its multiprocessor, that are resident at once. A cluster's multiprocessors
// are of one GPC, whose last ones it may leave over.
RIDGE_API int resident_clusters(const DeviceInfo&, int blocks);

// A grid in waves of as many blocks as the device holds at once.
struct Waves {
  std::int64_t full = 0;  // waves that fill the device
  double tail = 0;        // share of the device that the last one fills; 1 where all are full, 0 without blocks
  double efficiency = 0;  // blocks over the places that the waves have for them
  std::int64_t count() const { return full + (tail > 0 && tail < 1 ? 1 : 0); }
};
RIDGE_API Waves waves(std::int64_t blocks, int per_sm, int sms);

// Of the elements that whole tiles cover, the share that exists: 257 columns in tiles of 128 are 257 of 384.
RIDGE_API double tile_efficiency(std::int64_t size, std::int64_t tile);

// Little's law: bytes that must be under way on the whole device for memory to run at its rate.
RIDGE_API double bytes_to_saturate(const DeviceInfo&);

// The multiple of elements to which the sizes of a matrix product are best padded, for the tensor cores: 16 bytes, and
// 128 bytes from Ampere on.
RIDGE_API int padding_multiple(const DeviceInfo&, int element_bytes);

}  // namespace ridge::roofline
