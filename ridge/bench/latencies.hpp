// Latencies: the time of one load that waits for the one before it, at each level of a GPU's memory, for
// `ridge calibrate`.
#pragma once
#include <ridge/core/device.hpp>

namespace ridge::bench {

struct Latency {
  double cycles = 0, ns = 0;
};
struct Latencies {
  Latency global, l2, l1, shared;
};

// Walks a chain of loads at each level. Takes a tenth of a second, and 1 GiB of the GPU's memory.
Result<Latencies> measure_latencies(const DeviceInfo&);

}  // namespace ridge::bench
