#include <ridge/tuning/clock.hpp>

namespace ridge::tuning {

Result<std::unique_ptr<Clock>> make_gpu_clock(const DeviceInfo&) {
  return Status::error(Code::no_device, "this build of Ridge has no GPU's clock");
}

}  // namespace ridge::tuning
