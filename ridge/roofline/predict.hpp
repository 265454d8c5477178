// Predicts a kernel's time: one model for every operator. A plan gives the kernel's demands on the device, the model
// turns them into times; explain() shows each term.
#pragma once
#include <ridge/core/plan.hpp>
#include <ridge/roofline/bound.hpp>
#include <ridge/roofline/occupancy.hpp>

namespace ridge::roofline {

// A kernel as the model sees it: facts of a table's row, from its Config and from measurement.
struct Kernel {
  Cost cost;  // the operator's least work; a prediction is never below the time of its arithmetic
  std::int64_t blocks = 1;
  Resources block;
  std::string_view registers_source = "the plan's figure for sm_90a";
  int launches = 1;                          // in the whole run, this kernel's included
  double bytes_read = 0, bytes_written = 0;  // from and to memory, by all blocks
  double memory_share = 1;                   // share of memory's rate that the row's accesses reach; measured
  double l2_bytes = 0;                       // bytes that are read again, from the L2 cache
  double trips = 1;                          // a block's trips to memory, each waiting for the one before it
  double trip_bytes = 0;                     // bytes that a block has in flight on such a trip
  double block_us = 0;                       // a block's other time: barriers, arithmetic that nothing hides
  double clocks = 0;                         // clocks of the busiest pipe, for all blocks together
  double serial_us = 0;  // time that overlaps with nothing: atomics on one address, further small kernels
  double tile_efficiency = 1;
  // How well memory, latency and arithmetic overlap: 1 is not at all, infinity is perfectly. Kernels whose threads have
  // one access in flight measure as 3.
  double overlap = 3;
};

// Adds what a kernel takes beyond a launch until its code is there: it is loaded at its first execution on a
// multiprocessor, piece by piece (docs/decisions.md, 44).
inline void add_code(Kernel& k, double us) { k.serial_us += us; }

struct Prediction {
  double us = 0;
  // us = launch + norm(memory, cache, latency, arithmetic) + tail + serial, in the norm of Kernel::overlap
  double launch_us = 0, memory_us = 0, cache_us = 0, latency_us = 0, arithmetic_us = 0, tail_us = 0, serial_us = 0;
  Occupancy occupancy;
  Waves waves;
  double block_us = 0;         // from the start of a block to its end, on an idle device
  double bytes_in_flight = 0;  // per multiprocessor
};

RIDGE_API Prediction predict(const Kernel&, const DeviceInfo&);

// Fills cost, bound, times and analysis of an explanation.
RIDGE_API void account(Explanation&, const Kernel&, const DeviceInfo&);

// The same for a kernel whose time the plan predicts by itself: the terms add up to it.
RIDGE_API void account(Explanation&, const Kernel&, double predicted_us, std::vector<Analysis::Term>,
                       const DeviceInfo&);

// Puts a block's real resources, and the figures that depend on them, into an analysis. `source` says where they are
// from.
RIDGE_API void account_resources(Analysis&, const Resources& block, std::int64_t blocks, std::string_view source,
                                 const DeviceInfo&);

}  // namespace ridge::roofline
