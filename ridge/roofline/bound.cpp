#include <ridge/roofline/bound.hpp>

#include <algorithm>

namespace ridge::roofline {

double rate(const DeviceInfo& d, Unit unit) {
  // Per multiprocessor and clock, since Volta: 64 int32 lanes, 16 special-function results.
  constexpr double int32_lanes = 64, special_lanes = 16;
  switch (unit) {
    case Unit::fp32: return d.fp32_tflops;
    case Unit::fp64: return d.fp64_tflops;
    case Unit::int32: return d.is_cpu() ? d.fp32_tflops : int32_lanes * d.sms * d.clock_ghz * 1e-3;
    case Unit::special: return d.is_cpu() ? d.fp32_tflops : special_lanes * d.sms * d.clock_ghz * 1e-3;
    case Unit::tf32: return d.tf32_tflops;
    case Unit::fp16_tensor: return d.fp16_tflops;
    case Unit::fp8_tensor: return d.fp8_tflops;
    case Unit::int8_tensor: return d.int8_tops;
  }
  return 0;
}

Bound bound(const Cost& cost, const DeviceInfo& device) {
  Bound b;
  if (device.memory_gbs > 0) b.memory_us = cost.bytes() / device.memory_gbs * 1e-3;
  for (int u = 0; u < unit_count; ++u) {
    const double tera = rate(device, static_cast<Unit>(u));
    const double us = tera > 0 ? cost.operations[u] / tera * 1e-6 : 0;
    if (us > b.arithmetic_us) {
      b.arithmetic_us = us;
      b.unit = static_cast<Unit>(u);
    }
  }
  b.latency_us = device.launch_us;
  b.least_us = std::max({b.memory_us, b.arithmetic_us, b.latency_us});
  b.name = b.least_us == b.latency_us ? "latency" : b.memory_us >= b.arithmetic_us ? "memory" : "arithmetic";
  return b;
}

double predict_us(const Cost& cost, const DeviceInfo& device, double share) {
  const Bound b = bound(cost, device);
  return b.latency_us + std::max(b.memory_us, b.arithmetic_us) / share;
}

}  // namespace ridge::roofline
