// The roofline: what holds an operator, and the least time it can take on a device.
#pragma once
#include <ridge/core/cost.hpp>
#include <ridge/core/device.hpp>

#include <string_view>

namespace ridge::roofline {

// 1e12 operations/s of a unit on a device; 0 where the model does not know it.
RIDGE_API double rate(const DeviceInfo&, Unit);

struct Bound {
  std::string_view name;     // memory, arithmetic or latency
  double least_us = 0;       // the greatest of the three
  double memory_us = 0;      // bytes over the bandwidth of a copy
  double arithmetic_us = 0;  // the slowest unit's operations over its rate
  double latency_us = 0;     // one launch
  Unit unit = Unit::fp32;    // the slowest unit
};

RIDGE_API Bound bound(const Cost&, const DeviceInfo&);

// Predicted time of a kernel that reaches `share` (0..1) of the roof once it is under way.
RIDGE_API double predict_us(const Cost&, const DeviceInfo&, double share);

}  // namespace ridge::roofline
