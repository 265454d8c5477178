// The roofline: what holds an operator, and the least time it can take on a device.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>

#include <string_view>

namespace ridge::roofline {

// 1e12 operations/s of a unit on a device; 0 where the model does not know it.
RIDGE_API double rate(const DeviceInfo&, Unit);

// What `sms` multiprocessors can do at a clock: 1e12 operations/s, a fused multiply-add is two.
constexpr double peak_tera(int sms, double clock_ghz, int fma_per_clock) {
  return 2.0 * fma_per_clock * sms * clock_ghz * 1e-3;
}

// ---- the levels of memory ------------------------------------------------------------------------------------------

enum class Level : std::uint8_t { dram, l2, shared };
inline constexpr Level levels[] = {Level::dram, Level::l2, Level::shared};
RIDGE_API std::string_view name(Level);

// 1e9 bytes/s: of the data sheet for DRAM and L2, 128 bytes a clock of each multiprocessor for shared memory.
RIDGE_API double bandwidth_gbs(const DeviceInfo&, Level);

// Operations per byte at which a unit and a level of memory take the same time: the roofline's ridge. Below it the
// level is the bound, above it the unit. 0 where either rate is unknown.
RIDGE_API double balance(const DeviceInfo&, Unit, Level);

// An operator's operations per byte that it must move.
RIDGE_API double intensity(const Cost&);
RIDGE_API double intensity(const Cost&, Unit);

// Least time to move bytes. What is both read and written goes at the rate of a copy, the rest at that of reading.
RIDGE_API double memory_us(const DeviceInfo&, double bytes_read, double bytes_written);

// ---- the bound -----------------------------------------------------------------------------------------------------

struct Bound {
  std::string_view name;     // memory, arithmetic or latency
  double least_us = 0;       // the greatest of the three
  double memory_us = 0;      // bytes over the bandwidth
  double arithmetic_us = 0;  // the slowest unit's operations over its rate
  double latency_us = 0;     // one launch
  Unit unit = Unit::fp32;    // the slowest unit
};

RIDGE_API Bound bound(const Cost&, const DeviceInfo&);

}  // namespace ridge::roofline
