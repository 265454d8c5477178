// Streams, events and callbacks. All work is done when a call returns, so a stream is only a name, and an event the
// device's time when it was recorded.
#include <ridge/lab/runtime_checks.hpp>

#include <mutex>
#include <unordered_map>
#include <utility>

using namespace ridge::lab;

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
};
struct CUevent_st {
  unsigned flags = 0;
  bool recorded = false;
  double us = 0;
};

namespace {

// The handles of a kind: each is the address of what it names. Those that were destroyed stay allocated, so that none
// is used again for another.
template <class T> class Handles {
 public:
  T* make(T value) {
    std::lock_guard hold(lock_);
    T* handle = new T(value);
    lives_.emplace(handle, true);
    return handle;
  }
  bool destroy(T* handle) {
    std::lock_guard hold(lock_);
    const auto found = lives_.find(handle);
    return found != lives_.end() && std::exchange(found->second, false);
  }
  bool has(T* handle) {
    std::lock_guard hold(lock_);
    const auto found = lives_.find(handle);
    return found != lives_.end() && found->second;
  }

 private:
  std::mutex lock_;
  std::unordered_map<T*, bool> lives_;
};
Handles<CUstream_st>& streams() {
  static auto& all = *new Handles<CUstream_st>;
  return all;
}
Handles<CUevent_st>& events() {
  static auto& all = *new Handles<CUevent_st>;
  return all;
}

constexpr int greatest_priority = -5;  // as devices since compute capability 7

bool is_built_in(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread; }

cudaError_t check_event(const char* call, cudaEvent_t event, Place at) {
  if (event && events().has(event)) return cudaSuccess;
  return misuse(cudaErrorInvalidResourceHandle, at,
                std::string(call) + ": the event was not created, or is destroyed already");
}

}  // namespace

cudaError_t ridge::lab::check_stream(const char* call, cudaStream_t stream, Place at) {
  if (is_built_in(stream) || streams().has(stream)) return cudaSuccess;
  return misuse(cudaErrorInvalidResourceHandle, at,
                std::string(call) + ": the stream was not created, or is destroyed already");
}

// ---- streams -----------------------------------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority, Place at) {
  RIDGE_LAB_TRY(device_error());
  if (!stream || flags > cudaStreamNonBlocking)
    return misuse(cudaErrorInvalidValue, at, "cudaStreamCreate: flags are cudaStreamDefault or cudaStreamNonBlocking");
  *stream = streams().make({flags, priority > 0 ? 0 : priority < greatest_priority ? greatest_priority : priority});
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(Placed<cudaStream_t*> stream) {
  return cudaStreamCreateWithPriority(stream.value, cudaStreamDefault, 0, stream.at);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags, Place at) {
  return cudaStreamCreateWithPriority(stream, flags, 0, at);
}
cudaError_t cudaStreamDestroy(Placed<cudaStream_t> stream) {
  RIDGE_LAB_TRY(device_error());
  if (streams().destroy(stream.value)) return cudaSuccess;
  return misuse(cudaErrorInvalidResourceHandle, stream.at,
                "cudaStreamDestroy: the stream was not created, or is destroyed already");
}
cudaError_t cudaStreamSynchronize(Placed<cudaStream_t> stream) {
  RIDGE_LAB_TRY(device_error());
  return check_stream("cudaStreamSynchronize", stream.value, stream.at);
}
cudaError_t cudaStreamQuery(Placed<cudaStream_t> stream) {
  RIDGE_LAB_TRY(device_error());
  return check_stream("cudaStreamQuery", stream.value, stream.at);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned, Place at) {
  RIDGE_LAB_TRY(device_error());
  RIDGE_LAB_TRY(check_stream("cudaStreamWaitEvent", stream, at));
  return check_event("cudaStreamWaitEvent", event, at);
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaStreamGetFlags", stream, at));
  *flags = is_built_in(stream) ? cudaStreamDefault : stream->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaStreamGetPriority", stream, at));
  *priority = is_built_in(stream) ? 0 : stream->priority;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = greatest_priority;
  return cudaSuccess;
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* p, std::size_t, unsigned, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaStreamAttachMemAsync", stream, at));
  const auto memory = find_memory(p);
  if (memory && memory->kind == MemoryKind::managed) return cudaSuccess;
  return misuse(cudaErrorInvalidValue, at, "cudaStreamAttachMemAsync of memory that is not cudaMallocManaged's");
}

// ---- the host's functions in a stream -----------------------------------------------------------------------------

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data, Place at) {
  RIDGE_LAB_TRY(device_error());
  RIDGE_LAB_TRY(check_stream("cudaLaunchHostFunc", stream, at));
  if (!function) return misuse(cudaErrorInvalidValue, at, "cudaLaunchHostFunc: the function is null");
  function(data);
  return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned, Place at) {
  RIDGE_LAB_TRY(check_stream("cudaStreamAddCallback", stream, at));
  if (!function) return misuse(cudaErrorInvalidValue, at, "cudaStreamAddCallback: the function is null");
  function(stream, device_error(), data);  // called after a kernel's fault too, and told of it
  return cudaSuccess;
}

// ---- events ------------------------------------------------------------------------------------------------------

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags, Place at) {
  RIDGE_LAB_TRY(device_error());
  if (!event) return misuse(cudaErrorInvalidValue, at, "cudaEventCreate: the address of the event is null");
  *event = events().make({.flags = flags});
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event, Place at) {
  return cudaEventCreateWithFlags(event, cudaEventDefault, at);
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags, Place at) {
  return cudaEventCreateWithFlags(event, flags, at);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream, Place at) {
  RIDGE_LAB_TRY(device_error());
  RIDGE_LAB_TRY(check_event("cudaEventRecord", event, at));
  RIDGE_LAB_TRY(check_stream("cudaEventRecord", stream, at));
  event->recorded = true;
  event->us = now_us();
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned, Place at) {
  return cudaEventRecord(event, stream, at);
}
cudaError_t cudaEventSynchronize(Placed<cudaEvent_t> event) {
  RIDGE_LAB_TRY(device_error());
  return check_event("cudaEventSynchronize", event.value, event.at);
}
cudaError_t cudaEventQuery(Placed<cudaEvent_t> event) {
  RIDGE_LAB_TRY(device_error());
  return check_event("cudaEventQuery", event.value, event.at);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to, Place at) {
  RIDGE_LAB_TRY(device_error());
  if (!milliseconds) return misuse(cudaErrorInvalidValue, at, "cudaEventElapsedTime: the address of the time is null");
  for (const cudaEvent_t event : {from, to}) {
    RIDGE_LAB_TRY(check_event("cudaEventElapsedTime", event, at));
    const std::string which =
        event == from ? "cudaEventElapsedTime: the first event " : "cudaEventElapsedTime: the second event ";
    if (event->flags & cudaEventDisableTiming)
      return misuse(cudaErrorInvalidResourceHandle, at, which + "was created with cudaEventDisableTiming");
    if (!event->recorded)
      return misuse(cudaErrorInvalidResourceHandle, at, which + "was never recorded by cudaEventRecord");
  }
  *milliseconds = static_cast<float>((to->us - from->us) / 1e3);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(Placed<cudaEvent_t> event) {
  RIDGE_LAB_TRY(device_error());
  if (events().destroy(event.value)) return cudaSuccess;
  return misuse(cudaErrorInvalidResourceHandle, event.at,
                "cudaEventDestroy: the event was not created, or is destroyed already");
}
