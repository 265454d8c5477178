#include <ridge/core/text.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace ridge::roofline {

namespace {

// The time from a block's launch to its first instruction, plus the time from its last one to the next block's launch.
// Fitted to an H200: blocks of one access per thread take 0.67 us, of which a trip to memory is 0.42
// (bench/results/h200).
constexpr double block_start_us = 0.25;

// Bytes per clock between a multiprocessor and the L2 cache.
constexpr double l2_bytes_per_clock = 64;

double norm(std::initializer_list<double> terms, double p) {
  const double most = std::max(terms);
  if (most <= 0) return 0;
  double sum = 0;
  for (double t : terms) sum += std::pow(t / most, p);
  return most * std::pow(sum, 1 / p);
}

}  // namespace

Prediction predict(const Kernel& k, const DeviceInfo& d) {
  Prediction p;
  p.occupancy = occupancy(d, k.block);
  const int per_sm = std::max(p.occupancy.blocks, 1);
  p.waves = waves(k.blocks, per_sm, d.sms);
  const double blocks = static_cast<double>(k.blocks), slots = static_cast<double>(per_sm) * d.sms;
  const double blocks_per_slot = std::max(blocks / slots, 1.0);  // blocks that follow one another in one slot

  p.launch_us = k.launches * d.launch_us;
  p.serial_us = k.serial_us;
  if (k.blocks <= 0) {
    p.us = p.launch_us + p.serial_us;
    return p;
  }
  const double moved = k.bytes_read + k.bytes_written;
  const double transfer_us = d.clock_ghz > 0 ? moved / blocks / (l2_bytes_per_clock * d.clock_ghz) * 1e-3 : 0;
  const double trips_us = k.trips * d.memory_latency_us + k.block_us + transfer_us;
  p.block_us = block_start_us + trips_us;
  p.memory_us = memory_us(d, k.bytes_read, k.bytes_written) / k.memory_share;
  if (k.l2_bytes > 0 && d.l2_gbs > 0) p.cache_us = (moved + k.l2_bytes) / d.l2_gbs * 1e-3;
  // The first trips of the first blocks and the last trips of the last blocks overlap with nothing.
  p.tail_us = block_start_us + trips_us / std::max(k.trips, 1.0);
  p.latency_us = blocks_per_slot * p.block_us - p.tail_us;
  // Blocks are whole: the multiprocessor with the most of them decides.
  const double share = blocks / d.sms, most = std::ceil(share);
  p.arithmetic_us = d.clock_ghz > 0 ? k.clocks / d.sms / d.clock_ghz * 1e-3 * (most / share) : 0;
  double overlapped = norm({p.memory_us, p.cache_us, p.latency_us, p.arithmetic_us}, k.overlap);
  if (const double least = bound(k.cost, d).arithmetic_us; least > overlapped) overlapped = p.arithmetic_us = least;
  p.us = p.launch_us + overlapped + p.tail_us + p.serial_us;
  p.bytes_in_flight = k.trip_bytes * std::min(blocks / d.sms, static_cast<double>(per_sm));
  return p;
}

static std::vector<Analysis::Term> terms_of(const Kernel& k, const Prediction& p, const DeviceInfo& d) {
  std::vector<Analysis::Term> terms;
  terms.push_back({"launch", p.launch_us, format("%d x %.2f us", k.launches, d.launch_us)});
  if (k.blocks <= 0) return terms;
  const double moved = k.bytes_read + k.bytes_written;
  terms.push_back({"memory", p.memory_us,
                   format("%.4g MB at %.0f GB/s", moved * 1e-6, p.memory_us > 0 ? moved / p.memory_us * 1e-3 : 0)});
  if (p.cache_us > 0)
    terms.push_back({"cache", p.cache_us, format("%.4g MB more from the L2 cache, in all", k.l2_bytes * 1e-6)});
  terms.push_back({"latency", p.latency_us,
                   format("%.1f blocks in turn x %.2f us (%.3g trips to memory of %.2f us), less the tail",
                          (p.latency_us + p.tail_us) / p.block_us, p.block_us, k.trips, d.memory_latency_us)});
  if (p.arithmetic_us > 0)
    terms.push_back({"arithmetic", p.arithmetic_us,
                     p.arithmetic_us == bound(k.cost, d).arithmetic_us
                         ? "the operations at the unit's rate"
                         : format("%.3g clocks of each multiprocessor", k.clocks / d.sms)});
  if (p.tail_us > 0) terms.push_back({"tail", p.tail_us, "the first and the last blocks, which overlap with none"});
  if (p.serial_us > 0) terms.push_back({"serial", p.serial_us, "before or after the kernel, or one at a time"});
  return terms;
}

// Changes that would raise the bound, or move the kernel closer to it.
static std::vector<std::string> advice_of(const Kernel& k, const Prediction& p, const Bound& b, const DeviceInfo& d) {
  const Cost& cost = k.cost;
  std::vector<std::string> advice;
  if (b.name == "latency") {
    advice.push_back("the launch is the bound: do more work per launch, by a batch or by fusing with a neighbour");
  } else if (b.name == "memory") {
    const double ridge = balance(d, b.unit, Level::dram), now = intensity(cost, b.unit);
    std::string s = "memory is the bound: fuse with a neighbour that reads the result, or use a narrower type";
    if (now > 0 && ridge > now) s += format("; %.3g times the arithmetic would cost nothing", ridge / now);
    advice.push_back(s);
  } else {
    advice.push_back("the " + std::string(name(b.unit)) +
                     " unit is the bound: a faster unit (tensor cores, a narrower type) or fewer operations");
  }
  const double roof = std::max({b.memory_us, b.arithmetic_us, b.latency_us});
  if (k.blocks > 0 && k.blocks < d.sms)
    advice.push_back(format("the grid has %lld blocks for %d multiprocessors: split the work further",
                            static_cast<long long>(k.blocks), d.sms));
  if (p.latency_us > 0.7 * roof && p.occupancy.share < 0.75 && p.occupancy.limiter != "threads" && k.blocks > d.sms)
    advice.push_back(format("latency is hardly hidden: %s allow %d blocks on a multiprocessor, %.0f %% of its threads",
                            std::string(p.occupancy.limiter).c_str(), p.occupancy.blocks, 100 * p.occupancy.share));
  const double needed = bytes_to_saturate(d) / d.sms;
  if (b.name == "memory" && p.bytes_in_flight > 0 && p.bytes_in_flight < needed)
    advice.push_back(
        format("%.1f KB in flight per multiprocessor where memory needs %.1f: more or wider accesses before "
               "the first use",
               p.bytes_in_flight * 1e-3, needed * 1e-3));
  if (p.waves.full < 8 && p.waves.efficiency > 0 && p.waves.efficiency < 0.9 && k.blocks > d.sms)
    advice.push_back(format("the last wave fills %.0f %% of the device: another tile size or a persistent grid",
                            100 * p.waves.tail));
  if (k.tile_efficiency < 0.8)
    advice.push_back(
        format("tiles are %.0f %% full: a size nearer to a multiple of the tile", 100 * k.tile_efficiency));
  if (k.bytes_read > 1.2 * cost.bytes_read && cost.bytes_read > 0)
    advice.push_back(format("memory is read %.1f times: keep the row on chip", k.bytes_read / cost.bytes_read));
  return advice;
}

void account_resources(Analysis& a, const Resources& block, std::int64_t blocks, std::string_view source,
                       const DeviceInfo& d) {
  const Occupancy held = occupancy(d, block);
  const Waves w = waves(blocks, held.blocks, d.sms);
  a.blocks = blocks;
  a.threads = block.threads;
  a.smem_bytes = block.smem;
  a.registers = block.registers;
  a.registers_source = block.registers > 0 ? source : "";
  a.blocks_per_sm = held.blocks;
  a.limiter = held.limiter;
  a.occupancy = held.share;
  const double of_sm = static_cast<double>(blocks) / d.sms;
  if (blocks > 0 && of_sm < held.blocks) {
    a.limiter = "the grid";
    a.occupancy *= of_sm / held.blocks;
  }
  a.waves = held.blocks > 0 ? of_sm / held.blocks : 0;
  a.wave_efficiency = w.efficiency;
  a.tail_share = w.tail;
}

static void account_for(Explanation& e, const Kernel& k, const Prediction& p, std::vector<Analysis::Term> terms,
                        const DeviceInfo& d) {
  const Cost& cost = k.cost;
  const Bound b = bound(cost, d);
  e.device = d.name;
  e.cost = cost;
  e.bound = b.name;
  e.least_us = b.least_us;
  e.predicted_us = p.us;

  Analysis& a = e.analysis;
  a.terms = std::move(terms);
  if (b.arithmetic_us > 0) {
    a.unit = name(b.unit);
    a.intensity = intensity(cost, b.unit);
  }
  for (Level level : levels)
    if (const double gbs = bandwidth_gbs(d, level); gbs > 0)
      a.levels.push_back({std::string(name(level)), gbs, a.unit.empty() ? 0 : balance(d, b.unit, level)});
  account_resources(a, k.block, k.blocks, k.registers_source, d);
  a.tile_efficiency = k.tile_efficiency;
  a.bytes_in_flight = p.bytes_in_flight;
  a.bytes_needed = bytes_to_saturate(d) / d.sms;
  a.advice = advice_of(k, p, b, d);
}

void account(Explanation& e, const Kernel& k, const DeviceInfo& d) {
  const Prediction p = predict(k, d);
  account_for(e, k, p, terms_of(k, p, d), d);
}

void account(Explanation& e, const Kernel& k, double predicted_us, std::vector<Analysis::Term> terms,
             const DeviceInfo& d) {
  Prediction p = predict(k, d);  // for the grid's figures; the times are replaced by the plan's own
  p.us = predicted_us;
  p.latency_us = 0;
  account_for(e, k, p, std::move(terms), d);
}

}  // namespace ridge::roofline
