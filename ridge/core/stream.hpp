// Stream: the queue of work. On a GPU the handle is a cudaStream_t; null is the default stream. On the CPU runtime work
// is done when run() returns, and the handle is ignored.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

struct Stream {
  void* handle = nullptr;
};

// Waits for all work queued on this stream of the device.
RIDGE_API Status synchronize(Device, Stream = {});

}  // namespace ridge
