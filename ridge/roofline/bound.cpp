#include <ridge/roofline/bound.hpp>

#include <algorithm>
#include <array>

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

std::string_view name(Level level) {
  constexpr std::string_view names[] = {"DRAM", "L2", "shared"};
  return names[static_cast<int>(level)];
}

double bandwidth_gbs(const DeviceInfo& d, Level level) {
  constexpr double shared_bytes_per_clock = 128;  // 32 banks of 4 bytes
  switch (level) {
    case Level::dram: return d.peak_gbs > 0 ? d.peak_gbs : d.memory_gbs;
    case Level::l2: return d.l2_gbs;
    case Level::shared: return d.is_cpu() ? 0 : shared_bytes_per_clock * d.sms * d.clock_ghz;
  }
  return 0;
}

double balance(const DeviceInfo& device, Unit unit, Level level) {
  const double gbs = bandwidth_gbs(device, level);
  return gbs > 0 ? rate(device, unit) * 1e3 / gbs : 0;
}

double intensity(const Cost& cost) { return cost.bytes() > 0 ? cost.all_operations() / cost.bytes() : 0; }
double intensity(const Cost& cost, Unit unit) { return cost.bytes() > 0 ? cost.on(unit) / cost.bytes() : 0; }

double memory_us(const DeviceInfo& device, double bytes_read, double bytes_written) {
  if (device.memory_gbs <= 0) return 0;
  const double read_gbs = device.read_gbs > 0 ? device.read_gbs : device.memory_gbs;
  const double only_read = std::max(bytes_read - bytes_written, 0.0);
  const double copied = bytes_read + bytes_written - only_read;
  return (copied / device.memory_gbs + only_read / read_gbs) * 1e-3;
}

// The fastest unit that takes over the operations of a unit that the device lacks. (TF32 has no such unit: whether it
// stands for one product or for three of split components, float32 computes it there.)
static Unit stand_in(const DeviceInfo& device, Unit unit) {
  if (device.is_cpu()) return unit;  // its model has only orders of magnitude
  if (unit == Unit::fp8_tensor && rate(device, unit) <= 0) unit = Unit::fp16_tensor;
  return unit == Unit::fp16_tensor && rate(device, unit) <= 0 ? Unit::fp32 : unit;
}

Bound bound(const Cost& cost, const DeviceInfo& device) {
  Bound b;
  b.memory_us = memory_us(device, cost.bytes_read, cost.bytes_written);
  std::array<double, unit_count> operations{};
  for (int u = 0; u < unit_count; ++u)
    operations[static_cast<std::size_t>(stand_in(device, static_cast<Unit>(u)))] += cost.operations[u];
  for (int u = 0; u < unit_count; ++u) {
    const double tera = rate(device, static_cast<Unit>(u));
    const double us = tera > 0 ? operations[static_cast<std::size_t>(u)] / tera * 1e-6 : 0;
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

}  // namespace ridge::roofline
