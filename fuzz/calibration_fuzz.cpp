// libFuzzer: a calibration file is rejected, or its figures allow a prediction and are the same after writing and
// reading.
#include <ridge/core/calibration.hpp>
#include <ridge/core/text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace ridge;

static void require(bool holds) {
  if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = Calibration::parse("NVIDIA H200", {reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  require(read->device == "NVIDIA H200");
  DeviceInfo info = *device_model("H200");
  read->apply(info);
  require(printable(info.measured) == info.measured);
  for (double figure : {info.memory_gbs, info.read_gbs, info.fp32_tflops, info.fp64_tflops, info.fp16_tflops})
    require(std::isfinite(1e12 / figure) || figure == 0);
  require(Calibration::parse("NVIDIA H200", read->text()) == read);
  return 0;
}
