// CUDA's runtime behind gpu.hpp. Linked statically, so libridge loads where there is no driver.
#include <ridge/core/device_query.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/vector_access.hpp>

#include <cuda_runtime_api.h>

#include <vector>

namespace ridge::gpu {

static Status failed(const char* what, cudaError_t error) {
  const Code code = error == cudaErrorMemoryAllocation                                   ? Code::out_of_memory
                    : error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? Code::no_device
                                                                                         : Code::device_error;
  cudaGetLastError();  // the error is reported here; leave nothing behind for an unrelated later call
  return Status::error(code, std::string(what) + ": " + cudaGetErrorString(error));
}

static Status check(const char* what, cudaError_t error) {
  return error == cudaSuccess ? Status{} : failed(what, error);
}

int count() {
  int n = 0;
  return cudaGetDeviceCount(&n) == cudaSuccess ? n : (cudaGetLastError(), 0);
}

Result<DeviceInfo> query(int index) {
  int n = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&n); error != cudaSuccess || n == 0)
    return Status::error(Code::no_device, std::string("a GPU was asked for, and this machine has none (") +
                                              (error ? cudaGetErrorString(error) : "no device") + "); use device cpu");
  if (index < 0 || index >= n)
    return Status::error(Code::no_device,
                         "GPU " + std::to_string(index) + " was asked for, and this machine has " + std::to_string(n));
  cudaDeviceProp p;
  if (const cudaError_t error = cudaGetDeviceProperties(&p, index)) return failed("cudaGetDeviceProperties", error);

  DeviceInfo info;
  info.name = p.name;
  info.id = {DeviceKind::cuda, index};
  info.cc = p.major * 10 + p.minor;
  info.sms = p.multiProcessorCount;
  info.warp = p.warpSize;
  info.threads_per_sm = p.maxThreadsPerMultiProcessor;
  info.blocks_per_sm = p.maxBlocksPerMultiProcessor;
  info.registers_per_sm = p.regsPerMultiprocessor;
  info.smem_per_sm = static_cast<int>(p.sharedMemPerMultiprocessor);
  info.smem_reserved = static_cast<int>(p.reservedSharedMemPerBlock);
  info.smem_per_block = static_cast<int>(p.sharedMemPerBlock);
  info.smem_optin = static_cast<int>(p.sharedMemPerBlockOptin);
  info.l2_bytes = p.l2CacheSize;
  info.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
  int clock_khz = 0, memory_khz = 0;
  cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, index);
  cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, index);
  info.clock_ghz = clock_khz * 1e-6;
  info.peak_gbs = 2.0 * memory_khz * 1e3 * p.memoryBusWidth / 8 * 1e-9;  // double data rate
  fill_rates(info);
  const auto capability = capability_of_code(info.cc, RIDGE_CUDA_ARCHITECTURES);
  if (!capability) return capability.error();
  info.cc = *capability;
  return info;
}

// Kernels read the whole 16-byte vector around an element, whose end may lie past the tensor's: tools report that as
// out of bounds.
static std::size_t whole_vectors(std::size_t bytes) {
  constexpr std::size_t vector = vector_bytes;
  return bytes > SIZE_MAX - vector ? bytes : (bytes + vector - 1) / vector * vector;
}

Result<void*> allocate(int index, std::size_t bytes) {
  Guard guard({DeviceKind::cuda, index});
  void* data = nullptr;
  if (const cudaError_t error = cudaMalloc(&data, whole_vectors(bytes)))
    return failed(("cudaMalloc of " + std::to_string(bytes) + " bytes").c_str(), error);
  return data;
}

void release(int index, void* data) {
  Guard guard({DeviceKind::cuda, index});
  if (cudaFree(data) != cudaSuccess) cudaGetLastError();  // a destructor cannot report an error
}

Result<void*> allocate_on(int index, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  void* data = nullptr;
  if (const cudaError_t error = cudaMallocAsync(&data, bytes, static_cast<cudaStream_t>(stream.handle)))
    return failed(("cudaMallocAsync of " + std::to_string(bytes) + " bytes").c_str(), error);
  return data;
}

void release_on(int index, void* data, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  if (cudaFreeAsync(data, static_cast<cudaStream_t>(stream.handle)) != cudaSuccess) cudaGetLastError();
}

Status copy(void* to, const void* from, std::size_t bytes) {
  return check("cudaMemcpy", cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

Status copy_on(int index, void* to, const void* from, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("cudaMemcpyAsync",
               cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream.handle)));
}

Status fill(int index, void* data, int value, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("cudaMemsetAsync", cudaMemsetAsync(data, value, bytes, static_cast<cudaStream_t>(stream.handle)));
}

Status synchronize(int index, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("cudaStreamSynchronize", cudaStreamSynchronize(static_cast<cudaStream_t>(stream.handle)));
}

bool is_capturing(int index, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(static_cast<cudaStream_t>(stream.handle), &status);
  if (error == cudaSuccess) return status != cudaStreamCaptureStatusNone;
  (void)cudaGetLastError();
  return true;  // the default stream, which no call may use while another stream is captured
}

BesideCaptures::BesideCaptures() {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  former_ = static_cast<int>(mode);
}

BesideCaptures::~BesideCaptures() {
  auto mode = static_cast<cudaStreamCaptureMode>(former_);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

Guard::Guard(Device device) {
  int current = 0;
  if (device.kind != DeviceKind::cuda || cudaGetDevice(&current) != cudaSuccess || current == device.index) return;
  if (cudaSetDevice(device.index) == cudaSuccess) former_ = current;
}

Guard::~Guard() {
  if (former_ >= 0) cudaSetDevice(former_);
}

}  // namespace ridge::gpu
