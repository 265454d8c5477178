// The helpers of NVIDIA's samples for CUDA: checks of errors, and the choice of a device, of which there is one.
// Written from what the samples expect of them.
#pragma once
#include <cuda_runtime.h>
#include <helper_string.h>

#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif

// ---- errors ------------------------------------------------------------------------------------------------------
inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }

template <class T> void check(T result, const char* call, const char* file, int line) {
  if (!result) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\"\n", file, line, static_cast<int>(result),
          _cudaGetErrorEnum(result), call);
  exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

inline void __printLastCudaError(const char* message, const char* file, int line) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s(%d): %s: CUDA error %d, %s: %s\n", file, line, message, static_cast<int>(error),
          cudaGetErrorName(error), cudaGetErrorString(error));
}
inline void __getLastCudaError(const char* message, const char* file, int line) {
  const bool failed = cudaPeekAtLastError() != cudaSuccess;
  __printLastCudaError(message, file, line);
  if (failed) exit(EXIT_FAILURE);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)

inline int ftoi(float x) { return static_cast<int>(x >= 0 ? x + 0.5f : x - 0.5f); }

// ---- the device --------------------------------------------------------------------------------------------------
// float32 units of a multiprocessor.
inline int _ConvertSMVer2Cores(int major, int minor) {
  if (major == 3) return 192;
  if (major == 7 || (major == 6 && minor == 0) || (major == 8 && minor == 0)) return 64;
  return 128;
}
inline const char* _ConvertSMVer2ArchName(int major, int minor) {
  switch (major) {
    case 3: return "Kepler";
    case 5: return "Maxwell";
    case 6: return "Pascal";
    case 7: return minor == 5 ? "Turing" : "Volta";
    case 8: return minor == 9 ? "Ada" : "Ampere";
    case 9: return "Hopper";
    default: return "Blackwell";
  }
}

inline int gpuDeviceInit(int device) {
  checkCudaErrors(cudaSetDevice(device));
  return device;
}
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findIntegratedGPU() { return -1; }

// The device that "-device=N" names, or the fastest one.
inline int findCudaDevice(int argc, const char** argv) {
  int device = gpuGetMaxGflopsDeviceId();
  if (checkCmdLineFlag(argc, argv, "device")) device = getCmdLineArgumentInt(argc, argv, "device");
  gpuDeviceInit(device);
  cudaDeviceProp p;
  checkCudaErrors(cudaGetDeviceProperties(&p, device));
  printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device, _ConvertSMVer2ArchName(p.major, p.minor),
         p.major, p.minor);
  return device;
}
inline bool checkCudaCapabilities(int major, int minor) {
  cudaDeviceProp p;
  checkCudaErrors(cudaGetDeviceProperties(&p, 0));
  if (p.major > major || (p.major == major && p.minor >= minor)) return true;
  printf("  needs compute capability %d.%d; the device has %d.%d\n", major, minor, p.major, p.minor);
  return false;
}
