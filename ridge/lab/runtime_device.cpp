// The device: its properties, and the calls that wait for it, choose it or set it up. There is one, number 0.
#include <ridge/lab/runtime_checks.hpp>

#include <algorithm>
#include <cstdio>

using namespace ridge::lab;

static cudaError_t check_device(const char* call, int number, Place at) {
  if (number == 0) return cudaSuccess;
  return misuse(cudaErrorInvalidDevice, at,
                std::string(call) + ": there is one device, number 0, and not " + std::to_string(number));
}

// ---- waiting and choosing ----------------------------------------------------------------------------------------

cudaError_t cudaDeviceSynchronize() { return device_error(); }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceReset(Place at) {
  release_device_memory("cudaDeviceReset", at);
  return device_error();
}
cudaError_t cudaThreadExit(Place at) { return cudaDeviceReset(at); }

cudaError_t cudaSetDevice(Placed<int> number) { return check_device("cudaSetDevice", number.value, number.at); }
cudaError_t cudaGetDevice(int* number) {
  *number = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaChooseDevice(int* number, const cudaDeviceProp*) { return cudaGetDevice(number); }

// ---- properties --------------------------------------------------------------------------------------------------

// Bits. Programs print the memory's bandwidth as this times the clock, so the clock follows from it and the bandwidth.
static int memory_bus_width(const ridge::DeviceInfo& d) {
  if (d.cc == 75) return 256;                                   // GDDR6
  if (d.cc == 86 || d.cc == 89) return 384;                     // GDDR6 and 6X
  if (d.cc >= 120) return 512;                                  // GDDR7
  if (d.cc >= 100) return 8192;                                 // a stack of HBM has 1024: eight
  if (d.cc == 90 && d.memory_bytes > 100ll << 30) return 6144;  // six, H200
  return d.cc >= 80 ? 5120 : 4096;
}

static void fill_memory(cudaDeviceProp& p, const ridge::DeviceInfo& d) {
  const auto bytes = [](auto n) { return static_cast<std::size_t>(n); };
  p.totalGlobalMem = bytes(d.memory_bytes);
  p.totalConstMem = 65536;
  p.memPitch = 2147483647;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  p.memoryBusWidth = memory_bus_width(d);
  p.memoryClockRate = static_cast<int>(d.peak_gbs * 1e6 / (2.0 * p.memoryBusWidth / 8) + 0.5);
  p.l2CacheSize = static_cast<int>(d.l2_bytes);
  p.sharedMemPerBlock = bytes(d.smem_per_block);
  p.sharedMemPerBlockOptin = bytes(d.smem_optin);
  p.sharedMemPerMultiprocessor = bytes(d.smem_per_sm);
  p.reservedSharedMemPerBlock = bytes(d.smem_reserved);
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
}

static void fill_limits(cudaDeviceProp& p, const ridge::DeviceInfo& d) {
  p.warpSize = d.warp;
  p.multiProcessorCount = d.sms;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.maxThreadsPerMultiProcessor = d.threads_per_sm;
  p.maxBlocksPerMultiProcessor = d.blocks_per_sm;
  p.regsPerBlock = std::min(d.registers_per_sm, 65536);
  p.regsPerMultiprocessor = d.registers_per_sm;
  p.clockRate = static_cast<int>(d.clock_ghz * 1e6 + 0.5);
  p.singleToDoublePrecisionPerfRatio =
      d.fp64_tflops > 0 ? std::max(1, static_cast<int>(d.fp32_tflops / d.fp64_tflops + 0.5)) : 0;
}

// No textures, peers, clusters, or grids whose blocks wait for each other: those are not emulated.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int number, Place at) {
  RIDGE_LAB_TRY(check_device("cudaGetDeviceProperties", number, at));
  if (!properties) return misuse(cudaErrorInvalidValue, at, "cudaGetDeviceProperties: the address is null");
  const ridge::DeviceInfo& d = device();
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "%s (ridge lab)", d.name.c_str());
  const int version = d.cc > 0 ? d.cc : 70;  // a device that is not CUDA's has what CUDA programs take for granted
  p.major = version / 10;
  p.minor = version % 10;
  fill_memory(p, d);
  fill_limits(p, d);
  p.canMapHostMemory = p.unifiedAddressing = p.managedMemory = p.concurrentManagedAccess = 1;
  p.hostRegisterSupported = p.canUseHostPointerForRegisteredMem = p.memoryPoolsSupported = 1;
  p.concurrentKernels = p.streamPrioritiesSupported = p.deviceOverlap = p.computePreemptionSupported = 1;
  p.asyncEngineCount = 3;
  p.tccDriver = p.ECCEnabled = 0;
  *properties = p;
  return cudaSuccess;
}

static int attribute(const cudaDeviceProp& p, cudaDeviceAttr which) {
  const auto number = [](std::size_t n) { return static_cast<int>(std::min<std::size_t>(n, 2147483647)); };
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return number(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return number(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return number(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock: return number(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return number(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxPitch: return number(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrClockRate: return p.clockRate;
    case cudaDevAttrTextureAlignment: return number(p.textureAlignment);
    case cudaDevAttrGpuOverlap: return p.deviceOverlap;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrCanMapHostMemory: return p.canMapHostMemory;
    case cudaDevAttrConcurrentKernels: return p.concurrentKernels;
    case cudaDevAttrMemoryClockRate: return p.memoryClockRate;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return p.unifiedAddressing;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrStreamPrioritiesSupported: return p.streamPrioritiesSupported;
    case cudaDevAttrGlobalL1CacheSupported: return p.globalL1CacheSupported;
    case cudaDevAttrLocalL1CacheSupported: return p.localL1CacheSupported;
    case cudaDevAttrManagedMemory: return p.managedMemory;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio: return p.singleToDoublePrecisionPerfRatio;
    case cudaDevAttrConcurrentManagedAccess: return p.concurrentManagedAccess;
    case cudaDevAttrComputePreemptionSupported: return p.computePreemptionSupported;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return p.canUseHostPointerForRegisteredMem;
    case cudaDevAttrHostRegisterSupported: return p.hostRegisterSupported;
    case cudaDevAttrMemoryPoolsSupported: return p.memoryPoolsSupported;
    default: return 0;  // what the device does not have
  }
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int number, Place at) {
  cudaDeviceProp p;
  RIDGE_LAB_TRY(cudaGetDeviceProperties(&p, number, at));
  if (!value) return misuse(cudaErrorInvalidValue, at, "cudaDeviceGetAttribute: the address is null");
  *value = attribute(p, which);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int number) {
  if (number != 0 || !text || size < 13) return fail(cudaErrorInvalidValue);
  std::snprintf(text, static_cast<std::size_t>(size), "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

// ---- settings: kept or ignored -----------------------------------------------------------------------------------

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

// CUDA's defaults.
static std::size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  if (limit < 0 || limit >= std::ssize(limits)) return fail(cudaErrorUnsupportedLimit);
  limits[limit] = value;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  if (!value || limit < 0 || limit >= std::ssize(limits)) return fail(cudaErrorUnsupportedLimit);
  *value = limits[limit];
  return cudaSuccess;
}

// ---- peers, profilers --------------------------------------------------------------------------------------------

cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned, Place at) {
  RIDGE_LAB_TRY(check_device("cudaDeviceEnablePeerAccess", peer, at));
  return misuse(cudaErrorInvalidDevice, at, "cudaDeviceEnablePeerAccess: a device is no peer of itself");
}
cudaError_t cudaDeviceDisablePeerAccess(int peer, Place at) {
  RIDGE_LAB_TRY(check_device("cudaDeviceDisablePeerAccess", peer, at));
  return fail(cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
