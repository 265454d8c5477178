// A build for the CPU alone: there is never a GPU, and every request says so.
#include <ridge/core/gpu.hpp>

namespace ridge::gpu {

static Status none() {
  return Status::error(Code::no_device, "a GPU was asked for, and this build of Ridge has none; use device cpu");
}

int count() { return 0; }
Result<DeviceInfo> query(int) { return none(); }
Result<void*> allocate(int, std::size_t) { return none(); }
void release(int, void*) {}
Result<void*> allocate_on(int, std::size_t, Stream) { return none(); }
void release_on(int, void*, Stream) {}
Status copy(void*, const void*, std::size_t) { return none(); }
Status copy_on(int, void*, const void*, std::size_t, Stream) { return none(); }
Status fill(int, void*, int, std::size_t, Stream) { return none(); }
Status synchronize(int, Stream) { return none(); }
bool is_capturing(int, Stream) { return false; }
BesideCaptures::BesideCaptures() : former_(0) {}
BesideCaptures::~BesideCaptures() = default;
Guard::Guard(Device) {}
Guard::~Guard() = default;

}  // namespace ridge::gpu
