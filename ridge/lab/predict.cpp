#include <ridge/core/text.hpp>
#include <ridge/lab/predict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ridge::lab {
namespace {

using simt::trace::Access;
using simt::trace::Kind;
using simt::trace::Space;

// The figures below are estimates from data sheets and from Ridge's own kernels. None is fitted to users' kernels.

constexpr double sector_bytes = 32;

// A load-store unit moves 128 bytes, four sectors, in a clock, or accepts one instruction of a warp.
constexpr double sectors_per_clock = 4;

// A basic block of a kernel's inner loop is about this many instructions besides its accesses: addresses, a
// comparison, a branch, a little arithmetic. A multiprocessor issues four instructions in a clock.
constexpr double instructions_per_block = 6, issued_per_clock = 4;

// nvcc unrolls loops of unknown length four times and loads ahead: a warp has four loads in flight.
constexpr double loads_in_flight = 4;

// Latencies of the caches as shares of memory's: an L2 hit takes about 270 clocks on an H100 and an L1 hit 35, where
// memory takes 700.
constexpr double l2_latency = 0.38, l1_latency = 0.05;

// One atomic on a sector after another takes the L2 cache about two clocks.
constexpr double atomic_us = 1e-3;

// The share of the L2 cache that a program's data may take and still be there when a kernel begins.
constexpr double resident_share = 0.5;

double clocks_of(const Access& a) {
  if (a.space == Space::shared) return static_cast<double>(a.wavefronts);
  return std::max(static_cast<double>(a.requests), static_cast<double>(a.sectors) / sectors_per_clock);
}

}  // namespace

Work work_of(const simt::trace::Launch& launch, std::int64_t blocks) {
  const simt::trace::Footprint& f = launch.footprint;
  Work work;
  work.blocks = blocks;
  work.threads = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  work.smem = std::max(f.shared_bytes, static_cast<std::int64_t>(launch.smem));
  if (f.blocks == 0) return work;
  const double scale = static_cast<double>(blocks) / static_cast<double>(f.blocks);
  work.bytes_read = scale * sector_bytes * static_cast<double>(f.read_sectors);
  work.bytes_written = scale * sector_bytes * static_cast<double>(f.written_sectors);
  double stored = 0, requests = 0;
  for (const Access& a : launch.accesses) {
    work.memory_clocks += scale * clocks_of(a);
    requests += static_cast<double>(a.requests);
    if (a.space == Space::shared) continue;
    if (a.kind == Kind::atomic && f.atomic_sectors > 0) {
      const bool is_shared = f.atomic_sectors < f.blocks;  // else each block has sectors of its own
      work.atomics_in_turn +=
          (is_shared ? scale : 1) * static_cast<double>(a.lanes) / static_cast<double>(f.atomic_sectors);
    }
    if (a.kind == Kind::load) work.l1_sectors += scale * static_cast<double>(a.sectors);
    else stored += static_cast<double>(a.sectors);
  }
  work.l2_bytes = scale * sector_bytes * (static_cast<double>(f.block_read_sectors) + stored);
  work.issue_clocks =
      scale * (instructions_per_block * static_cast<double>(f.basic_blocks) + requests) / issued_per_clock;
  const double warps = static_cast<double>(f.blocks) * ((work.threads + launch.warp - 1) / launch.warp);
  work.load_steps = static_cast<double>(f.load_steps) / warps;
  return work;
}

LaunchPrediction predict(const Work& work, const DeviceInfo& device, double live_bytes) {
  const bool resident = live_bytes < resident_share * static_cast<double>(device.l2_bytes);
  // Of what is in no cache; blocks that were not watched may share their data with those that were.
  const double moved = work.bytes_read + work.bytes_written;
  const double known = live_bytes > 0 ? std::min(1.0, 2 * live_bytes / std::max(moved, 1.0)) : 1.0;
  roofline::Kernel kernel;
  kernel.blocks = work.blocks;
  kernel.block = {.threads = work.threads, .registers = 0, .smem = static_cast<int>(work.smem)};
  if (!resident) {
    kernel.bytes_read = work.bytes_read * known;
    kernel.bytes_written = work.bytes_written * known;
  }
  kernel.cost.bytes_read = kernel.bytes_read;
  kernel.cost.bytes_written = kernel.bytes_written;
  kernel.l2_bytes = std::max(work.l2_bytes - kernel.bytes_read - kernel.bytes_written, 0.0);
  kernel.serial_us = work.atomics_in_turn * atomic_us;
  kernel.clocks = std::max(work.memory_clocks, work.issue_clocks);

  // Loads wait for the cache, or the memory, that has what they ask for.
  const double asked = std::max(work.l1_sectors * sector_bytes, 1.0);
  const double missed = std::min(work.l2_bytes / asked, 1.0);
  const double of_memory = std::min(kernel.bytes_read / asked, missed);
  const double latency = of_memory + (missed - of_memory) * l2_latency + (1 - missed) * l1_latency;
  const double trips = work.load_steps / std::min(std::max(work.load_steps, 1.0), loads_in_flight);
  kernel.trips = std::max(trips * latency, work.load_steps > 0 ? l1_latency : 0.0);

  LaunchPrediction p{.times = roofline::predict(kernel, device), .bound = {}};
  const roofline::Prediction& t = p.times;
  const std::array<std::pair<double, std::string_view>, 6> terms{
      {{t.memory_us, "DRAM"},
       {t.cache_us, "L2 cache"},
       {t.arithmetic_us, work.memory_clocks >= work.issue_clocks ? "load-store unit" : "issue"},
       {t.latency_us + t.tail_us, "latency"},
       {t.serial_us, "atomics"},
       {t.launch_us, "launch"}}};
  p.bound = std::ranges::max_element(terms, {}, &std::pair<double, std::string_view>::first)->second;
  return p;
}

std::vector<Advice> advise(const simt::trace::Launch& launch, std::int64_t blocks, const DeviceInfo& device,
                           double live_bytes, std::size_t most) {
  const auto time_of = [&](const simt::trace::Launch& l, std::int64_t of_blocks) {
    return predict(work_of(l, of_blocks), device, live_bytes).us();
  };
  const double now = time_of(launch, blocks);
  std::vector<Advice> all;
  const auto propose = [&](const std::string& text, const simt::trace::Line& at, double then) {
    if (now - then > 0.02 * now) all.push_back({text, at, now - then});  // what gains less is no advice
  };

  // ---- lines --------------------------------------------------------------------------------------------------------
  for (std::size_t i = 0; i < launch.accesses.size(); ++i) {
    const Access& a = launch.accesses[i];
    simt::trace::Launch changed = launch;
    Access& c = changed.accesses[i];
    if (a.space == Space::shared && a.kind != Kind::atomic && a.conflicts()) {
      c.wavefronts = c.least_wavefronts;
      propose(
          format("no bank conflicts: %.1f wavefronts for each access where %.1f would do; pad the row by one element, "
                 "or swizzle",
                 static_cast<double>(a.wavefronts) / static_cast<double>(a.requests),
                 static_cast<double>(a.least_wavefronts) / static_cast<double>(a.requests)),
          a.at, time_of(changed, blocks));
    }
    if (a.space == Space::global && a.sectors > a.least_sectors + a.requests) {
      c.sectors = c.least_sectors;
      // Sectors that hold nothing else need not be moved at all.
      const double wasted = static_cast<double>(a.sectors - a.least_sectors);
      auto& f = changed.footprint;
      if (a.kind == Kind::store) {
        f.written_sectors = std::max(f.written_sectors - static_cast<std::int64_t>(wasted), c.least_sectors);
      } else {
        f.block_read_sectors = std::max(f.block_read_sectors - static_cast<std::int64_t>(wasted), f.read_sectors);
      }
      propose(format("coalesce: %.1f sectors for each access where %.1f would do; neighbouring threads should access "
                     "neighbouring addresses",
                     static_cast<double>(a.sectors) / static_cast<double>(a.requests),
                     static_cast<double>(a.least_sectors) / static_cast<double>(a.requests)),
              a.at, time_of(changed, blocks));
    }
    if (a.kind == Kind::atomic && a.requests > 0 && a.lanes > 4 * a.requests) {
      c.requests = std::max<std::int64_t>(a.requests / 32, 1);
      c.lanes = std::max<std::int64_t>(a.lanes / launch.warp, 1);
      c.sectors /= 32;
      c.wavefronts /= 32;
      propose("add up within the warp or the block first, and let one lane do the atomic", a.at,
              time_of(changed, blocks));
    }
  }

  // ---- the whole launch --------------------------------------------------------------------------------------------
  const simt::trace::Footprint& f = launch.footprint;
  const Access* busiest = nullptr;  // the load that asks for most
  for (const Access& a : launch.accesses)
    if (a.space == Space::global && a.kind == Kind::load && (!busiest || a.sectors > busiest->sectors)) busiest = &a;
  if (busiest &&
      work_of(launch, blocks).l1_sectors > 4 * static_cast<double>(f.block_read_sectors) *
                                               (static_cast<double>(blocks) / static_cast<double>(f.blocks))) {
    simt::trace::Launch changed = launch;
    for (Access& a : changed.accesses)
      if (a.space == Space::global && a.kind == Kind::load) {
        const double share = std::min(1.0, static_cast<double>(f.block_read_sectors) /
                                               static_cast<double>(std::max<std::int64_t>(busiest->sectors, 1)));
        a.sectors = static_cast<std::int64_t>(static_cast<double>(a.sectors) * share);
        a.requests = static_cast<std::int64_t>(static_cast<double>(a.requests) * share);
      }
    propose("each block loads the same data many times: load a tile once, keep it in shared memory or registers",
            busiest->at, time_of(changed, blocks));
  }
  if (blocks < device.sms && blocks > 0) {
    // The same work in as many blocks as there are multiprocessors.
    simt::trace::Launch changed = launch;
    changed.footprint.load_steps = std::max<std::int64_t>(1, f.load_steps * blocks / device.sms);
    Work work = work_of(changed, blocks);
    work.blocks = device.sms;
    propose(format("the grid has %s for %d multiprocessors: split the work into more blocks",
                   count_text(blocks, "block").c_str(), device.sms),
            busiest ? busiest->at : simt::trace::Line{}, predict(work, device, live_bytes).us());
  }
  const LaunchPrediction p = predict(work_of(launch, blocks), device, live_bytes);
  std::ranges::stable_sort(all, std::greater{}, &Advice::saved_us);
  if (all.size() > most) all.resize(most);
  if (all.empty() && p.bound == "launch")  // a saving that no change of the kernel makes
    all.push_back(
        {"the launch itself takes most of the time: do more work in a launch, or several launches in one", {}, 0});
  return all;
}

}  // namespace ridge::lab
