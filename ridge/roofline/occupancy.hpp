// How a grid fills a device: blocks per multiprocessor, waves, tiles, bytes in flight. The textbook's quantities.
#pragma once
#include <ridge/core/device.hpp>

#include <cstdint>
#include <string_view>

namespace ridge::roofline {

// The resources of one block on a multiprocessor.
struct Resources {
  int threads = 256;
  int registers = 0;  // per thread; 0: no limit known
  int smem = 0;       // bytes, static and dynamic
};

struct Occupancy {
  int blocks = 0;            // resident on a multiprocessor at once; 0: the block does not fit
  std::string_view limiter;  // threads, blocks, registers or shared memory: the first one that allows no more blocks
  double share = 0;          // resident threads over what the multiprocessor holds
};
RIDGE_API Occupancy occupancy(const DeviceInfo&, const Resources&);

// The number of clusters of `blocks` blocks that are resident at once, with one block on each multiprocessor. A
// cluster's multiprocessors are in one GPC, so a GPC's last ones may stay unused.
RIDGE_API int resident_clusters(const DeviceInfo&, int blocks);

// A grid in waves of as many blocks as the device holds at once.
struct Waves {
  std::int64_t full = 0;  // waves that fill the device
  double tail = 0;        // share of the device that the last wave fills; 1 where all are full, 0 without blocks
  double efficiency = 0;  // blocks over the block slots of the waves
  std::int64_t count() const { return full + (tail > 0 && tail < 1 ? 1 : 0); }
};
RIDGE_API Waves waves(std::int64_t blocks, int per_sm, int sms);

// The share of the elements covered by whole tiles that exist: 257 columns in tiles of 128 are 257 of 384.
RIDGE_API double tile_efficiency(std::int64_t size, std::int64_t tile);

// Little's law: bytes that must be in flight on the whole device for memory to run at its rate.
RIDGE_API double bytes_to_saturate(const DeviceInfo&);

// The multiple of elements to which the sizes of a matrix product should be padded for tensor cores: 16 bytes, and 128
// bytes from Ampere on.
RIDGE_API int padding_multiple(const DeviceInfo&, int element_bytes);

}  // namespace ridge::roofline
