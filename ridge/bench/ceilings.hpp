// Ceilings: the rates that a GPU really reaches, measured by kernels that do one thing each, for `ridge calibrate`.
#pragma once
#include <ridge/core/calibration.hpp>
#include <ridge/core/stream.hpp>

namespace ridge::bench {

// Measures all figures that can be measured fairly here; takes a second.
Result<Calibration> measure_ceilings(const DeviceInfo&);

// ---- cuda/ceilings.cu ---------------------------------------------------------------------------------------

enum class Ceiling : std::uint8_t { touch, read, fp32, fp64, fp16_tensor };

// Queues one kernel of this kind. read: sums `bytes` bytes at `data` and drops the sum; the others need one element at
// `data` and ignore `bytes`.
Status launch_ceiling(Ceiling, const DeviceInfo&, void* data, std::size_t bytes, Stream);
// Operations of one launch; 0 for touch and read.
double operations_of(Ceiling, const DeviceInfo&);

}  // namespace ridge::bench
