// Sweep: a summary of measurements of random problems.
#pragma once
#include <ridge/bench/bench.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace ridge::bench {

// A measurement's fastest peer; null where none was measured.
const PeerMeasurement* best_peer(const Measurement&);

// How many times faster we are than that peer; 0 without one.
double times_faster(const Measurement&);

// Measured over predicted time or its inverse, whichever is above 1.
double times_off(const Measurement&);

struct Sweep {
  std::size_t measured = 0;
  std::vector<const Measurement*> failed;  // those with an error
  std::vector<const Measurement*> alone;   // those without a peer
  // Geometric mean and 5th percentile of times_faster() for those with a peer; 0 where there are none.
  double geomean = 0, p5 = 0;
  double median_times_off = 0;
  std::vector<const Measurement*> worst, furthest;  // by times_faster() and by times_off(); limited in number
};

// The summary points into `measurements`.
Sweep summarise(std::span<const Measurement> measurements, std::size_t most = 20);

}  // namespace ridge::bench
