#include <ridge/bench/bench.hpp>
#include <ridge/bench/ceilings.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/tuning/clock.hpp>

#include <algorithm>
#include <ctime>
#include <vector>

#ifndef RIDGE_HAS_CUDA
#define RIDGE_HAS_CUDA 0
#endif

namespace ridge::bench {

namespace {

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

// The shortest of several runs: a ceiling is the undisturbed rate of the device.
Result<double> least_us(tuning::Clock& clock, int runs, const std::function<Status(int)>& work) {
  auto measure = clock.prepare(runs, work);
  if (!measure) return measure.error();
  double least = 0;
  for (int i = 0; i < 12; ++i) {
    auto us = (*measure)();
    if (!us) return us.error();
    if (i >= 2) least = least > 0 ? std::min(least, *us) : *us;
  }
  return least;
}

Result<Calibration> measure_gpu(const DeviceInfo& device) {
  constexpr std::size_t bytes = std::size_t{1} << 30;  // larger than every L2 cache
  auto clock = tuning::make_gpu_clock(device);
  if (!clock) return clock.error();
  auto buffer = Buffer::allocate(device.id, bytes);
  if (!buffer) return buffer.error();
  RIDGE_TRY(fill_bytes(buffer->data(), device.id, 0x3f, bytes));
  const Stream stream = (*clock)->stream();
  Calibration c{.device = device.name, .date = today()};
  const auto measure = [&](Ceiling kind, int runs) {
    return least_us(**clock, runs,
                    [&, kind](int) { return launch_ceiling(kind, device, buffer->data(), bytes, stream); });
  };
  const auto rate = [&](Ceiling kind, double& tera) -> Status {
    auto us = measure(kind, 4);
    if (!us) return us.error();
    tera = operations_of(kind, device) / *us * 1e-6;
    return {};
  };
  auto touch = measure(Ceiling::touch, 64);
  if (!touch) return touch.error();
  c.shortest_kernel_us = *touch;
  auto read = measure(Ceiling::read, 4);
  if (!read) return read.error();
  c.read_gbs = static_cast<double>(bytes) / (*read - *touch) * 1e-3;
  RIDGE_TRY(rate(Ceiling::fp32, c.fp32_tflops));
  // The data sheet's figure stays where tensor cores are faster than the vector units (Ampere's and Hopper's fp64), or
  // need other instructions than mma.sync for their full rate (Hopper's and Blackwell's fp16).
  if (device.cc != 80 && device.cc < 90) RIDGE_TRY(rate(Ceiling::fp64, c.fp64_tflops));
  if (device.cc >= 80 && device.cc < 90) RIDGE_TRY(rate(Ceiling::fp16_tensor, c.fp16_tflops));
  auto copy = copy_gbs(device);
  if (!copy) return copy.error();
  c.memory_gbs = *copy;
  return c;
}

}  // namespace

Result<Calibration> measure_ceilings(const DeviceInfo& device) {
  if (device.is_cpu())
    return Status::invalid("calibrate", "device", "the CPU runtime", "a GPU: the CPU runtime has no roof to measure");
  if constexpr (RIDGE_HAS_CUDA) return measure_gpu(device);
  return Status::error(Code::no_device, "this build of Ridge has no CUDA, whose GPUs alone are calibrated");
}

}  // namespace ridge::bench
