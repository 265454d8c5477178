// CUDA's runtime API by its own names, for host code that g++ compiles (`ridge lab`). Kernels run on the CPU runtime.
//
// Every call happens at once: streams are ordered as the host's program is, and an event's time is the device's
// predicted one (session.hpp). A call that breaks a rule which a device would not report, or would report without
// saying where, is told as a sentence with its line. So functions take their caller's line as a last argument that
// programs do not give; those that programs also call by their pointers take it with the first (placed.hpp).
#pragma once
#include <ridge/lab/memory.hpp>
#include <ridge/lab/placed.hpp>
#include <ridge/lab/runtime_types.hpp>
#include <ridge/lab/session.hpp>

#include <memory>
#include <utility>

#pragma GCC visibility push(default)

// ---- errors ------------------------------------------------------------------------------------------------------
const char* cudaGetErrorName(cudaError_t);
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

// ---- allocation --------------------------------------------------------------------------------------------------
cudaError_t cudaMalloc(void** memory, std::size_t bytes, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t,
                            ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags = cudaMemAttachGlobal,
                              ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMallocHost(void** memory, std::size_t bytes, unsigned flags = 0,
                           ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags = 0,
                          ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width, std::size_t height,
                            ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMalloc3D(cudaPitchedPtr*, cudaExtent, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaFree(ridge::lab::Placed<void*>);
cudaError_t cudaFreeAsync(ridge::lab::Placed<void*>, cudaStream_t);
cudaError_t cudaFreeHost(ridge::lab::Placed<void*>);
cudaError_t cudaHostRegister(void*, std::size_t bytes, unsigned flags = 0,
                             ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaHostUnregister(ridge::lab::Placed<void*>);
cudaError_t cudaHostGetDevicePointer(void** on_device, void* host, unsigned flags = 0,
                                     ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaHostGetFlags(unsigned* flags, void* host);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes*, const void*);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

// The device's default pool, from which cudaMallocAsync takes its memory. It keeps no freed memory, so its settings do
// nothing; other pools are not emulated.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t*, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t*, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t bytes);

namespace ridge::lab {
// Calls one of the functions above with a pointer to any type's pointer.
template <class T, class Call> cudaError_t typed(T** memory, Call call) {
  void* p = nullptr;
  const cudaError_t error = call(&p);
  if (error == cudaSuccess) *memory = static_cast<T*>(p);
  return error;
}
}  // namespace ridge::lab

template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes, ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaMalloc(p, bytes, at); });
}
template <class T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t stream,
                            ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaMallocAsync(p, bytes, stream, at); });
}
template <class T>
cudaError_t cudaMallocManaged(T** memory, std::size_t bytes, unsigned flags = cudaMemAttachGlobal,
                              ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaMallocManaged(p, bytes, flags, at); });
}
template <class T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes, unsigned flags = 0,
                           ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaMallocHost(p, bytes, flags, at); });
}
template <class T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned flags = 0,
                          ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaHostAlloc(p, bytes, flags, at); });
}
template <class T>
cudaError_t cudaMallocPitch(T** memory, std::size_t* pitch, std::size_t width, std::size_t height,
                            ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(memory, [&](void** p) { return cudaMallocPitch(p, pitch, width, height, at); });
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** on_device, void* host, unsigned flags = 0,
                                     ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::typed(on_device, [&](void** p) { return cudaHostGetDevicePointer(p, host, flags, at); });
}

// ---- copies and fills --------------------------------------------------------------------------------------------
cudaError_t cudaMemcpy(ridge::lab::Placed<void*> to, const void* from, std::size_t bytes, cudaMemcpyKind);
cudaError_t cudaMemcpyAsync(ridge::lab::Placed<void*> to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t = nullptr,
                              ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms*, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms*, cudaStream_t = nullptr,
                              ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                           ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t = nullptr, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemset(ridge::lab::Placed<void*>, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(ridge::lab::Placed<void*>, int value, std::size_t bytes, cudaStream_t = nullptr);
cudaError_t cudaMemset2D(void*, std::size_t pitch, int value, std::size_t width, std::size_t height,
                         ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemset2DAsync(void*, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t = nullptr, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemset3D(cudaPitchedPtr, int value, cudaExtent, ridge::lab::Place at = ridge::lab::Place::current());
// The device and the host share the machine's memory here: prefetches take time on the device's clock, and hints none.
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t bytes, int device, cudaStream_t = nullptr,
                                 ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t bytes, cudaMemLocation, unsigned flags,
                                 cudaStream_t = nullptr, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemAdvise(const void*, std::size_t bytes, cudaMemoryAdvise, int device,
                          ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaMemAdvise(const void*, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation,
                          ridge::lab::Place at = ridge::lab::Place::current());

// ---- symbols: __device__ and __constant__ variables -----------------------------------------------------------------
namespace ridge::lab {
cudaError_t copy_to_symbol(const void* symbol, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind, cudaStream_t, Place);
cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t size, std::size_t bytes, std::size_t offset,
                             cudaMemcpyKind, cudaStream_t, Place);
void enter_symbol(const void* symbol, std::size_t size, Place);
}  // namespace ridge::lab

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                               ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::copy_to_symbol(std::addressof(symbol), sizeof symbol, from, bytes, offset, kind, nullptr, at);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr,
                                    ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::copy_to_symbol(std::addressof(symbol), sizeof symbol, from, bytes, offset, kind, stream, at);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                 ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::copy_from_symbol(to, std::addressof(symbol), sizeof symbol, bytes, offset, kind, nullptr, at);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr,
                                      ridge::lab::Place at = ridge::lab::Place::current()) {
  return ridge::lab::copy_from_symbol(to, std::addressof(symbol), sizeof symbol, bytes, offset, kind, stream, at);
}
template <class P, class T>
cudaError_t cudaGetSymbolAddress(P** address, const T& symbol, ridge::lab::Place at = ridge::lab::Place::current()) {
  ridge::lab::enter_symbol(std::addressof(symbol), sizeof symbol, at);
  *address = static_cast<P*>(const_cast<void*>(static_cast<const volatile void*>(std::addressof(symbol))));
  return cudaSuccess;
}
template <class T> cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  *bytes = sizeof symbol;
  return cudaSuccess;
}

// ---- streams -----------------------------------------------------------------------------------------------------
cudaError_t cudaStreamCreate(ridge::lab::Placed<cudaStream_t*>);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned flags,
                                      ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned flags, int priority,
                                         ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamDestroy(ridge::lab::Placed<cudaStream_t>);
cudaError_t cudaStreamSynchronize(ridge::lab::Placed<cudaStream_t>);
cudaError_t cudaStreamQuery(ridge::lab::Placed<cudaStream_t>);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned flags = 0,
                                ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned* flags, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, std::size_t bytes = 0, unsigned = cudaMemAttachSingle,
                                     ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t, void* data,
                               ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamAddCallback(cudaStream_t, cudaStreamCallback_t, void* data, unsigned flags,
                                  ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);

// ---- events ------------------------------------------------------------------------------------------------------
cudaError_t cudaEventCreate(cudaEvent_t*, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventCreate(cudaEvent_t*, unsigned flags, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned flags, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t = nullptr, unsigned flags = 0,
                                     ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventSynchronize(ridge::lab::Placed<cudaEvent_t>);
cudaError_t cudaEventQuery(ridge::lab::Placed<cudaEvent_t>);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to,
                                 ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaEventDestroy(ridge::lab::Placed<cudaEvent_t>);

// ---- graphs: refused ---------------------------------------------------------------------------------------------
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode = cudaStreamCaptureModeGlobal,
                                   ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus*);
cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned flags, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags = 0,
                                 ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, cudaGraphNode_t*, char* log, std::size_t size,
                                 ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long flags = 0,
                                          ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaGraphExecDestroy(ridge::lab::Placed<cudaGraphExec_t>);
cudaError_t cudaGraphDestroy(ridge::lab::Placed<cudaGraph_t>);

// ---- the device --------------------------------------------------------------------------------------------------
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset(ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaThreadSynchronize();                                              // its name before CUDA 4
cudaError_t cudaThreadExit(ridge::lab::Place at = ridge::lab::Place::current());  // as cudaDeviceReset
cudaError_t cudaSetDevice(ridge::lab::Placed<int> device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int device, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int device,
                                   ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache);
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache*);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig);
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig*);
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags = 0,
                                       ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaDeviceDisablePeerAccess(int peer, ridge::lab::Place at = ridge::lab::Place::current());
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

#pragma GCC visibility pop

#include <ridge/lab/runtime_kernels.hpp>
