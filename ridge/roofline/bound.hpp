// The roofline: what bounds an operator, and the least time it can take on a device.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>

#include <string_view>

namespace ridge::roofline {

// A unit's rate on a device in 1e12 operations/s; 0 where the model does not know it.
RIDGE_API double rate(const DeviceInfo&, Unit);

// The rate of `sms` multiprocessors at a clock in 1e12 operations/s; a fused multiply-add is two.
constexpr double peak_tera(int sms, double clock_ghz, int fma_per_clock) {
  return 2.0 * fma_per_clock * sms * clock_ghz * 1e-3;
}

// ---- the levels of memory ------------------------------------------------------------------------------------------

enum class Level : std::uint8_t { dram, l2, shared };
inline constexpr Level levels[] = {Level::dram, Level::l2, Level::shared};
RIDGE_API std::string_view name(Level);

// Bandwidth in 1e9 bytes/s: the data sheet's for DRAM and L2, 128 bytes a clock per multiprocessor for shared memory.
RIDGE_API double bandwidth_gbs(const DeviceInfo&, Level);

// Operations per byte at which a unit and a level of memory take the same time: the ridge point of the roofline. Below
// it the level is the bound, above it the unit. 0 where either rate is unknown.
RIDGE_API double balance(const DeviceInfo&, Unit, Level);

// An operator's operations per byte that it must move, its arithmetic intensity.
RIDGE_API double intensity(const Cost&);
RIDGE_API double intensity(const Cost&, Unit);

// Least time to move bytes. Bytes both read and written move at the rate of a copy, the rest at the rate of reading.
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
