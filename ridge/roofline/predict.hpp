// The time a kernel will take: one model for every operator. A plan says what the kernel asks of the device, the model
// says what that costs; explain() shows each term.
#pragma once
#include <ridge/core/plan.hpp>
#include <ridge/roofline/bound.hpp>
#include <ridge/roofline/occupancy.hpp>

namespace ridge::roofline {

// A kernel as the model sees it. What a row of a table knows of itself, from its Config and from measurement.
struct Kernel {
  Cost cost;  // what the operator must do; a prediction is never below its arithmetic
  std::int64_t blocks = 1;
  Resources block;
  std::string_view registers_source = "the plan's figure for sm_90a";
  int launches = 1;                          // of the whole run, this kernel's among them
  double bytes_read = 0, bytes_written = 0;  // of memory, by all blocks
  double memory_share = 1;                   // of memory's rate, that the row's accesses reach; measured
  double l2_bytes = 0;                       // read again, which the L2 cache serves
  double trips = 1;                          // of a block to memory, each waiting for the one before it
  double trip_bytes = 0;                     // that a block has under way on such a trip
  double block_us = 0;                       // of a block beyond those: barriers, arithmetic that nothing hides
  double clocks = 0;                         // of a multiprocessor on its busiest pipe, for all blocks together
  double serial_us = 0;  // what happens by itself, before or after: atomics on one address, small further kernels
  double tile_efficiency = 1;
  // How well memory, latency and arithmetic overlap: 1 is not at all, infinity perfectly. Kernels whose threads have
  // one access under way measure as 3.
  double overlap = 3;
};

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

// The same of a kernel whose time the plan predicts by itself: the terms add up to it.
RIDGE_API void account(Explanation&, const Kernel&, double predicted_us, std::vector<Analysis::Term>,
                       const DeviceInfo&);

// Puts what a block really takes, and what follows from it, into an analysis. `source` says where the figures are from.
RIDGE_API void account_resources(Analysis&, const Resources& block, std::int64_t blocks, std::string_view source,
                                 const DeviceInfo&);

}  // namespace ridge::roofline
