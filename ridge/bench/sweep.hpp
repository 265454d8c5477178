// Sweep: what measurements of problems drawn at random say together.
#pragma once
#include <ridge/bench/bench.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace ridge::bench {

// The fastest peer of a measurement; null where none was measured.
const PeerMeasurement* best_peer(const Measurement&);

// How many times faster than that peer; 0 without one.
double times_faster(const Measurement&);

// How many times longer or shorter than predicted, whichever is above 1.
double times_off(const Measurement&);

struct Sweep {
  std::size_t measured = 0;
  std::vector<const Measurement*> failed;  // which have an error
  std::vector<const Measurement*> alone;   // of which there is no peer
  // Of those beside a peer: the geometric mean, and what nineteen of twenty are above. 0 where there are none.
  double geomean = 0, p5 = 0;
  double median_times_off = 0;
  std::vector<const Measurement*> worst, furthest;  // by times_faster() and times_off(); at most as many as asked for
};

// Points into `measurements`.
Sweep summarise(std::span<const Measurement> measurements, std::size_t most = 20);

}  // namespace ridge::bench
