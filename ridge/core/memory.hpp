// Buffer: owned memory on a device. Workspace: borrowed scratch that a plan declares and a caller lends.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/stream.hpp>
#include <ridge/core/tensor.hpp>

#include <cstddef>
#include <utility>

namespace ridge {

// A plan says how many bytes it needs (workspace_bytes()); run() gets them here, uninitialised and 256-byte aligned.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(device_, other.device_);
    return *this;
  }
  RIDGE_API ~Buffer();

  // At least one byte is allocated, aligned to 256.
  RIDGE_API static Result<Buffer> allocate(Device, std::size_t bytes);

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  Workspace workspace() const { return {data_, bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
};

// Copies bytes between any two devices and waits for the copy.
RIDGE_API Status copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes);

// Queues a fill of `bytes` bytes with `value`; on the CPU it is done at once.
RIDGE_API Status fill_bytes(void* data, Device, int value, std::size_t bytes, Stream = {});

}  // namespace ridge
