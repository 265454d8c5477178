// The calls of a GPU's runtime that Ridge makes, by one name each. Every vendor took CUDA's names and put its own word
// in front of them, so this is written once: a vendor's header defines RIDGE_VENDOR(name) as its word followed by the
// name, includes this, and adds what it spells in other ways.
#pragma once
#ifndef RIDGE_VENDOR
#error "ridge/core/vendor: include vendor.hpp, which chooses the vendor"
#endif

#include <ridge/core/backend.hpp>

#include <cstddef>

namespace ridge::vendor {

using Error = RIDGE_VENDOR(Error_t);
using Stream = RIDGE_VENDOR(Stream_t);
using Event = RIDGE_VENDOR(Event_t);
using Graph = RIDGE_VENDOR(Graph_t);
using GraphExec = RIDGE_VENDOR(GraphExec_t);
using CaptureStatus = RIDGE_VENDOR(StreamCaptureStatus);
using CaptureMode = RIDGE_VENDOR(StreamCaptureMode);

// ---- errors ------------------------------------------------------------------------------------------------------
inline constexpr Error success = RIDGE_VENDOR(Success);
inline constexpr Error out_of_memory = RIDGE_VENDOR(ErrorMemoryAllocation);
inline constexpr Error no_device = RIDGE_VENDOR(ErrorNoDevice);
inline constexpr Error insufficient_driver = RIDGE_VENDOR(ErrorInsufficientDriver);
inline constexpr Error not_supported = RIDGE_VENDOR(ErrorNotSupported);

inline const char* text_of(Error e) { return RIDGE_VENDOR(GetErrorString)(e); }
// Returns this thread's last error and clears it, or else an unrelated later call would report it again.
inline Error take_last_error() { return RIDGE_VENDOR(GetLastError)(); }

// ---- devices -----------------------------------------------------------------------------------------------------
inline Error count_devices(int* n) { return RIDGE_VENDOR(GetDeviceCount)(n); }
inline Error get_device(int* index) { return RIDGE_VENDOR(GetDevice)(index); }
inline Error set_device(int index) { return RIDGE_VENDOR(SetDevice)(index); }
template <class Attribute> Error get_attribute(int* value, Attribute which, int device) {
  return RIDGE_VENDOR(DeviceGetAttribute)(value, which, device);
}
template <class Properties> Error get_properties(Properties* p, int device) {
  return RIDGE_VENDOR(GetDeviceProperties)(p, device);
}

// ---- kernels -----------------------------------------------------------------------------------------------------
using KernelFigures = RIDGE_VENDOR(FuncAttributes);
inline Error get_figures(KernelFigures* f, const void* kernel) { return RIDGE_VENDOR(FuncGetAttributes)(f, kernel); }
// Asks for more dynamic shared memory than a kernel has by itself.
inline Error allow_shared(const void* kernel, int bytes) {
  return RIDGE_VENDOR(FuncSetAttribute)(kernel, RIDGE_VENDOR(FuncAttributeMaxDynamicSharedMemorySize), bytes);
}

// ---- memory ------------------------------------------------------------------------------------------------------
inline Error allocate(void** data, std::size_t bytes) { return RIDGE_VENDOR(Malloc)(data, bytes); }
inline Error release(void* data) { return RIDGE_VENDOR(Free)(data); }
inline Error allocate_async(void** data, std::size_t bytes, Stream s) {
  return RIDGE_VENDOR(MallocAsync)(data, bytes, s);
}
inline Error release_async(void* data, Stream s) { return RIDGE_VENDOR(FreeAsync)(data, s); }
// Between any two devices and the host; waits.
inline Error copy(void* to, const void* from, std::size_t bytes) {
  return RIDGE_VENDOR(Memcpy)(to, from, bytes, RIDGE_VENDOR(MemcpyDefault));
}
inline Error copy_within_device_async(void* to, const void* from, std::size_t bytes, Stream s) {
  return RIDGE_VENDOR(MemcpyAsync)(to, from, bytes, RIDGE_VENDOR(MemcpyDeviceToDevice), s);
}
inline Error fill_async(void* data, int value, std::size_t bytes, Stream s) {
  return RIDGE_VENDOR(MemsetAsync)(data, value, bytes, s);
}

// ---- streams and events ------------------------------------------------------------------------------------------
// A stream that does not wait for the default one.
inline Error create_stream(Stream* s) {
  return RIDGE_VENDOR(StreamCreateWithFlags)(s, RIDGE_VENDOR(StreamNonBlocking));
}
inline Error destroy(Stream s) { return RIDGE_VENDOR(StreamDestroy)(s); }
inline Error synchronize(Stream s) { return RIDGE_VENDOR(StreamSynchronize)(s); }
inline Error wait(Stream s, Event e) { return RIDGE_VENDOR(StreamWaitEvent)(s, e, 0); }
inline Error create_event(Event* e) { return RIDGE_VENDOR(EventCreate)(e); }
inline Error create_event_without_time(Event* e) {
  return RIDGE_VENDOR(EventCreateWithFlags)(e, RIDGE_VENDOR(EventDisableTiming));
}
inline Error destroy(Event e) { return RIDGE_VENDOR(EventDestroy)(e); }
inline Error record(Event e, Stream s) { return RIDGE_VENDOR(EventRecord)(e, s); }
inline Error synchronize(Event e) { return RIDGE_VENDOR(EventSynchronize)(e); }
inline Error elapsed_ms(float* ms, Event from, Event to) { return RIDGE_VENDOR(EventElapsedTime)(ms, from, to); }

// ---- capture into graphs -----------------------------------------------------------------------------------------
inline constexpr CaptureStatus not_capturing = RIDGE_VENDOR(StreamCaptureStatusNone);
inline constexpr CaptureMode relaxed_capture = RIDGE_VENDOR(StreamCaptureModeRelaxed);
inline Error capture_status(Stream s, CaptureStatus* status) { return RIDGE_VENDOR(StreamIsCapturing)(s, status); }
inline Error exchange_capture_mode(CaptureMode* mode) { return RIDGE_VENDOR(ThreadExchangeStreamCaptureMode)(mode); }
inline Error begin_capture(Stream s) {
  return RIDGE_VENDOR(StreamBeginCapture)(s, RIDGE_VENDOR(StreamCaptureModeThreadLocal));
}
inline Error end_capture(Stream s, Graph* g) { return RIDGE_VENDOR(StreamEndCapture)(s, g); }
inline Error destroy(Graph g) { return RIDGE_VENDOR(GraphDestroy)(g); }
inline Error launch(GraphExec g, Stream s) { return RIDGE_VENDOR(GraphLaunch)(g, s); }
inline Error destroy(GraphExec g) { return RIDGE_VENDOR(GraphExecDestroy)(g); }

}  // namespace ridge::vendor
