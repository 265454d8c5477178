// What core asks of a GPU's runtime. gpu_cuda.cpp answers where Ridge is built with CUDA, gpu_none.cpp elsewhere;
// no other file of core knows which.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>

namespace ridge::gpu {

int count();
Result<DeviceInfo> query(int index);
Result<void*> allocate(int index, std::size_t bytes);
void release(int index, void* data);
// From the stream's memory pool: ordered with the stream's work, and legal under graph capture.
Result<void*> allocate_on(int index, std::size_t bytes, Stream);
void release_on(int index, void* data, Stream);
Status copy(void* to, const void* from, std::size_t bytes);
// Queued on the stream, device to device.
RIDGE_API Status copy_on(int index, void* to, const void* from, std::size_t bytes, Stream);
Status fill(int index, void* data, int value, std::size_t bytes, Stream);
Status synchronize(int index, Stream);
// Whether what is queued on the stream becomes part of a graph.
bool is_capturing(int index, Stream);

// Makes a device current while it lives, and the former one afterwards.
class Guard {
 public:
  RIDGE_API explicit Guard(Device);
  RIDGE_API ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  int former_ = -1;  // -1: nothing to restore
};

// While it lives, what this thread does besides is no fault of another stream's capture.
class BesideCaptures {
 public:
  BesideCaptures();
  ~BesideCaptures();
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  int former_;
};

}  // namespace ridge::gpu
