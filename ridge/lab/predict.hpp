// How long a launch of a user's kernel would take on a device, from what the trace saw of it, and what would make it
// shorter. Pure functions.
//
// The model knows what a kernel does to memory, and how often its warps branch; it does not know its arithmetic. A
// kernel that is bound by arithmetic takes longer than predicted, and the text says so. README.md states the model's
// terms.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/roofline/predict.hpp>
#include <ridge/simt/trace.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ridge::lab {

// What the model takes of a launch. All counts are of the whole grid: of a launch of which some blocks were watched,
// they are extrapolated.
struct Work {
  std::int64_t blocks = 0;
  int threads = 0;                           // of a block
  std::int64_t smem = 0;                     // bytes of a block, static and dynamic
  double bytes_read = 0, bytes_written = 0;  // of global memory, each sector once
  double l2_bytes = 0;       // what multiprocessors ask of the L2 cache: reads as an ideal L1 leaves them, all writes
  double l1_sectors = 0;     // sectors that all loads ask of the L1 cache
  double memory_clocks = 0;  // of the multiprocessors' load-store units
  double issue_clocks = 0;
  double atomics_in_turn = 0;  // on a sector of global memory, if all that have some have as many
  double load_steps = 0;       // of a warp: loads of global memory, one after the other
};
Work work_of(const simt::trace::Launch&, std::int64_t blocks);

struct LaunchPrediction {
  roofline::Prediction times;
  std::string_view
      bound;  // the term that takes most: "DRAM", "L2 cache", "load-store unit", "issue", "latency", "launch"
  double us() const { return times.us; }
};

// live_bytes: what the program has allocated on the device. Where it fits the L2 cache, it is taken to be there.
LaunchPrediction predict(const Work&, const DeviceInfo&, double live_bytes);

// A change and what it would gain.
struct Advice {
  std::string text;
  simt::trace::Line at;
  double saved_us = 0;
};
// The changes that would gain most, the best first.
std::vector<Advice> advise(const simt::trace::Launch&, std::int64_t blocks, const DeviceInfo&, double live_bytes,
                           std::size_t most = 3);

}  // namespace ridge::lab
