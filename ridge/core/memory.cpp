#include <ridge/core/gpu.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan_cache.hpp>

#include <cstdlib>
#include <cstring>

namespace ridge {

inline constexpr std::size_t buffer_alignment = 256;  // that of cudaMalloc; the CPU's is no less

Result<Buffer> Buffer::allocate(Device device, std::size_t bytes) {
  Buffer buffer;
  buffer.device_ = device;
  buffer.bytes_ = bytes;
  const std::size_t least = bytes ? bytes : 1;
  if (device.kind == DeviceKind::cpu) {
    // posix_memalign, unlike aligned_alloc, lets a sanitizer guard the very next byte.
    if (posix_memalign(&buffer.data_, buffer_alignment, least) != 0)
      return Status::error(Code::out_of_memory, "allocation of " + std::to_string(bytes) + " bytes failed");
  } else {
    auto data = gpu::allocate(device.index, least);
    if (!data) return data.error();
    buffer.data_ = *data;
  }
  return buffer;
}

Buffer::~Buffer() {
  if (!data_) return;
  if (device_.kind == DeviceKind::cpu) std::free(data_);
  else gpu::release(device_.index, data_);
}

Status copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes) {
  if (bytes == 0) return {};
  if (to_device.kind == DeviceKind::cpu && from_device.kind == DeviceKind::cpu) {
    std::memmove(to, from, bytes);
    return {};
  }
  return gpu::copy(to, from, bytes);
}

Status fill_bytes(void* data, Device device, int value, std::size_t bytes, Stream stream) {
  if (bytes == 0) return {};
  if (device.kind == DeviceKind::cpu) {
    std::memset(data, value, bytes);
    return {};
  }
  return gpu::fill(device.index, data, value, bytes, stream);
}

Result<Workspace> borrow_workspace(Device device, std::size_t bytes, Stream stream) {
  if (bytes == 0) return Workspace{};
  if (device.kind == DeviceKind::cuda) {
    auto data = gpu::allocate_on(device.index, bytes, stream);
    if (!data) return data.error();
    return Workspace{*data, bytes};
  }
  void* data = nullptr;
  if (posix_memalign(&data, buffer_alignment, bytes) != 0)
    return Status::error(Code::out_of_memory, "allocation of " + std::to_string(bytes) + " bytes failed");
  return Workspace{data, bytes};
}

void return_workspace(Device device, Workspace workspace, Stream stream) {
  if (!workspace.data) return;
  if (device.kind == DeviceKind::cpu) std::free(workspace.data);
  else gpu::release_on(device.index, workspace.data, stream);
}

Status synchronize(Device device, Stream stream) {
  return device.kind == DeviceKind::cpu ? Status{} : gpu::synchronize(device.index, stream);
}

}  // namespace ridge
