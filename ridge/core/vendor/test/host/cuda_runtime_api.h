// A GPU's runtime on the host's memory, by CUDA's names: one device, and every call is done at once. A test says what
// the device is and what the driver lacks.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>

enum cudaError_t {
  cudaSuccess,
  cudaErrorInvalidValue,
  cudaErrorMemoryAllocation,
  cudaErrorInsufficientDriver,
  cudaErrorNoDevice,
  cudaErrorNotSupported,
};
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
enum cudaStreamCaptureMode {
  cudaStreamCaptureModeGlobal,
  cudaStreamCaptureModeThreadLocal,
  cudaStreamCaptureModeRelaxed
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaDeviceAttr {
  cudaDevAttrNone,
  cudaDevAttrClockRate,
  cudaDevAttrGlobalMemoryBusWidth,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMaxBlocksPerMultiprocessor,
  cudaDevAttrMaxRegistersPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlock,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxThreadsPerMultiProcessor,
  cudaDevAttrMemoryClockRate,
  cudaDevAttrMemoryPoolsSupported,
  cudaDevAttrMultiProcessorCount,
  cudaDevAttrReservedSharedMemoryPerBlock,
  cudaDevAttrWarpSize,
};
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;

struct HostStream {
  bool is_capturing = false;
};
struct HostEvent {
  HostStream* recorded_on = nullptr;
};
using cudaStream_t = HostStream*;
using cudaEvent_t = HostEvent*;
using cudaGraph_t = struct HostGraph*;
using cudaGraphExec_t = struct HostGraphExec*;
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor;
};
struct cudaFuncAttributes {
  int numRegs;
  std::size_t sharedSizeBytes, localSizeBytes;
};

// What a test sets and reads.
struct HostRuntime {
  int devices = 1;
  std::string name = "some GPU";
  std::map<cudaDeviceAttr, int> attributes;  // others the driver refuses
  cudaError_t of_async = cudaSuccess;        // what stream-ordered allocation returns
  cudaError_t of_malloc = cudaSuccess;
  std::set<void*> held;  // allocations that were not released
  int mallocs = 0, waits = 0;
  cudaError_t last = cudaSuccess;

  cudaError_t result(cudaError_t e) {
    if (e != cudaSuccess) last = e;
    return e;
  }
};
inline HostRuntime host_runtime;

inline const char* cudaGetErrorString(cudaError_t e) {
  const char* const texts[] = {"no error",        "invalid argument", "out of memory", "insufficient driver",
                               "no device found", "not supported"};
  return texts[e];
}
inline cudaError_t cudaGetLastError() {
  const cudaError_t last = host_runtime.last;
  host_runtime.last = cudaSuccess;
  return last;
}

inline cudaError_t cudaGetDeviceCount(int* n) {
  *n = host_runtime.devices;
  return host_runtime.result(*n > 0 ? cudaSuccess : cudaErrorNoDevice);
}
inline cudaError_t cudaGetDevice(int* index) { return *index = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  const auto found = host_runtime.attributes.find(which);
  if (found == host_runtime.attributes.end()) return host_runtime.result(cudaErrorInvalidValue);
  *value = found->second;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = {};
  std::strncpy(p->name, host_runtime.name.c_str(), sizeof p->name - 1);
  p->totalGlobalMem = std::size_t{64} << 30;
  p->major = 8;
  return cudaSuccess;
}
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* f, const void*) { return *f = {}, cudaSuccess; }
inline cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }

inline cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  ++host_runtime.mallocs;
  if (host_runtime.of_malloc != cudaSuccess) return host_runtime.result(host_runtime.of_malloc);
  *data = std::malloc(bytes);
  host_runtime.held.insert(*data);
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* data) {
  if (host_runtime.held.erase(data) == 0) return host_runtime.result(cudaErrorInvalidValue);
  std::free(data);
  return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t) {
  if (host_runtime.of_async != cudaSuccess) return host_runtime.result(host_runtime.of_async);
  return cudaMalloc(data, bytes);
}
inline cudaError_t cudaFreeAsync(void* data, cudaStream_t) { return cudaFree(data); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return std::memmove(to, from, bytes), cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
  return std::memset(data, value, bytes), cudaSuccess;
}

inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return *s = new HostStream, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return ++host_runtime.waits, cudaSuccess;
}
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return *e = new HostEvent, cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
inline cudaError_t cudaEventDestroy(cudaEvent_t e) { return delete e, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) { return e->recorded_on = s, cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) { return *ms = 0, cudaSuccess; }

inline cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
  *status = s && s->is_capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
inline cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  return s->is_capturing = true, cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* g) {
  s->is_capturing = false;
  return *g = nullptr, cudaSuccess;
}
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t, unsigned long long) {
  return *exec = nullptr, cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
