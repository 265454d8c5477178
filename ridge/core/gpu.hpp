// The functions of a GPU's runtime that core calls. gpu_runtime.cpp defines them where Ridge is built for a GPU, in the
// words of its vendor (vendor/vendor.hpp); gpu_none.cpp elsewhere.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/memory.hpp>

namespace ridge::gpu {

int count();
Result<DeviceInfo> query(int index);
Result<void*> allocate(int index, std::size_t bytes);
void release(int index, void* data);
// Allocates from the stream's memory pool: ordered with the stream's work, and legal under graph capture. Where the
// driver has no such pool, from one of Ridge's own, which says so once and refuses captures.
Result<void*> allocate_on(int index, std::size_t bytes, Stream);
void release_on(int index, void* data, Stream);
Status copy(void* to, const void* from, std::size_t bytes);
// Queues a device-to-device copy on the stream.
RIDGE_API Status copy_on(int index, void* to, const void* from, std::size_t bytes, Stream);
Status fill(int index, void* data, int value, std::size_t bytes, Stream);
Status synchronize(int index, Stream);
// Whether the stream is captured into a graph.
bool is_capturing(int index, Stream);

// Makes a device current for the guard's lifetime, and restores the former one afterwards.
class Guard {
 public:
  RIDGE_API explicit Guard(Device);
  RIDGE_API ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  int former_ = -1;  // -1: nothing to restore
};

// For its lifetime, other calls of this thread do not invalidate the capture of another stream.
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
