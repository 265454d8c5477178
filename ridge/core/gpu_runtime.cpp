// A GPU's runtime behind gpu.hpp, in the words of vendor/vendor.hpp.
#include <ridge/core/device_query.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/core/vendor/event_pool.hpp>
#include <ridge/core/vendor/vendor.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace ridge::gpu {

static Status failed(const std::string& what, vendor::Error error) {
  const Code code = error == vendor::out_of_memory                                       ? Code::out_of_memory
                    : error == vendor::no_device || error == vendor::insufficient_driver ? Code::no_device
                                                                                         : Code::device_error;
  (void)vendor::take_last_error();
  return Status::error(code, std::string(vendor::product) + ": " + what + ": " + vendor::text_of(error));
}

static Status check(const char* what, vendor::Error error) {
  return error == vendor::success ? Status{} : failed(what, error);
}

static vendor::Stream handle_of(Stream stream) { return static_cast<vendor::Stream>(stream.handle); }

int count() {
  int n = 0;
  return vendor::count_devices(&n) == vendor::success ? n : ((void)vendor::take_last_error(), 0);
}

// A figure that the driver does not give is `otherwise`.
static int figure(int index, vendor::Attribute attribute, int otherwise = 0) {
  int value = 0;
  if (vendor::get_attribute(&value, attribute, index) == vendor::success) return value;
  (void)vendor::take_last_error();
  return otherwise;
}

// Orders of magnitude for a device that no model describes, given its clock and its memory's rate.
static void estimate_rates(DeviceInfo& info) {
  info.memory_gbs = 0.9 * info.peak_gbs;  // as a good copy reaches
  info.l2_gbs = 3 * info.memory_gbs;      // a usual ratio
  info.fp32_tflops = 2.0 * vendor::fp32_lanes * info.sms * info.clock_ghz * 1e-3;
  info.fp64_tflops = info.fp32_tflops / 2;
  info.launch_us = 1.5;
  info.source = "the driver's clocks and widths; usual ratios";
}

Result<DeviceInfo> query(int index) {
  int n = 0;
  if (const vendor::Error error = vendor::count_devices(&n); error != vendor::success || n == 0) {
    (void)vendor::take_last_error();
    return Status::error(Code::no_device,
                         "a GPU was asked for, and this machine has none (" +
                             std::string(error != vendor::success ? vendor::text_of(error) : "no device") +
                             "); use device cpu");
  }
  if (index < 0 || index >= n)
    return Status::error(Code::no_device,
                         "GPU " + std::to_string(index) + " was asked for, and this machine has " + std::to_string(n));
  vendor::Properties p;
  if (const vendor::Error error = vendor::get_properties(&p, index); error != vendor::success)
    return failed("properties of GPU " + std::to_string(index), error);
  const int warp = figure(index, vendor::lanes_of_warp, vendor::warp);
  if (warp != vendor::warp)
    return Status::error(Code::no_device, "GPU " + std::to_string(index) + " (" + p.name + ") has warps of " +
                                              std::to_string(warp) + " lanes, and the kernels of this build of Ridge " +
                                              std::to_string(vendor::warp) + "; build for its architecture");

  DeviceInfo info;
  info.name = p.name;
  info.id = {DeviceKind::cuda, index};
  info.cc = vendor::has_compute_capability ? p.major * 10 + p.minor : 0;
  info.sms = figure(index, vendor::multiprocessors, info.sms);
  info.warp = warp;
  info.threads_per_sm = figure(index, vendor::threads_of_multiprocessor, info.threads_per_sm);
  info.blocks_per_sm = figure(index, vendor::blocks_of_multiprocessor, info.blocks_per_sm);
  info.registers_per_sm = figure(index, vendor::registers_of_multiprocessor, info.registers_per_sm);
  info.smem_per_block = figure(index, vendor::shared_of_block, info.smem_per_block);
  info.smem_optin = std::max(figure(index, vendor::shared_on_request), info.smem_per_block);
  info.smem_per_sm = figure(index, vendor::shared_of_multiprocessor, info.smem_optin);
  info.smem_reserved = figure(index, vendor::shared_reserved);
  info.l2_bytes = figure(index, vendor::l2_bytes);
  info.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
  info.clock_ghz = figure(index, vendor::clock_khz) * 1e-6;
  info.peak_gbs = 2.0 * figure(index, vendor::memory_clock_khz) * 1e3 * figure(index, vendor::memory_bus_bits) / 8 *
                  1e-9;  // double data rate
  if (!fill_rates(info)) estimate_rates(info);
#ifdef RIDGE_CUDA_ARCHITECTURES  // of this library; not where a test compiles this alone
  const auto capability = capability_of_code(info.cc, RIDGE_CUDA_ARCHITECTURES);
  if (!capability) return capability.error();
  info.cc = *capability;
#endif
  return info;
}

// ---- memory --------------------------------------------------------------------------------------------------------

// Kernels read the whole 16-byte vector around an element, whose end may lie past the tensor's: tools report that as
// out of bounds.
static std::size_t whole_vectors(std::size_t bytes) {
  constexpr std::size_t vector = vector_bytes;
  return bytes > SIZE_MAX - vector ? bytes : (bytes + vector - 1) / vector * vector;
}

Result<void*> allocate(int index, std::size_t bytes) {
  Guard guard({DeviceKind::cuda, index});
  void* data = nullptr;
  if (const vendor::Error error = vendor::allocate(&data, whole_vectors(bytes)); error != vendor::success)
    return failed("allocation of " + std::to_string(bytes) + " bytes", error);
  return data;
}

void release(int index, void* data) {
  Guard guard({DeviceKind::cuda, index});
  if (vendor::release(data) != vendor::success) (void)vendor::take_last_error();  // a destructor cannot report an error
}

// Where the driver allocates nothing in a stream's order, Ridge keeps blocks of its own.
static EventPool& own_pool() {
  static EventPool& pool = *new EventPool;  // never destroyed: its memory is the driver's, which may be gone by then
  return pool;
}

static Result<void*> allocate_from_own_pool(int index, std::size_t bytes, Stream stream) {
  static const bool said = [] {
    std::fprintf(stderr,
                 "ridge: %s allocates nothing in the order of a stream here: workspaces come from a pool of Ridge's "
                 "own, whose first use of a size waits for the device\n",
                 vendor::product);
    return true;
  }();
  (void)said;
  if (is_capturing(index, stream))
    return Status::error(Code::device_error,
                         std::string(vendor::product) +
                             " allocates nothing in the order of a stream here, so a captured run needs a workspace of "
                             "the caller's: plan, allocate workspace_bytes(), and run the plan");
  void* data = nullptr;
  if (const vendor::Error error = own_pool().allocate(&data, index, bytes, handle_of(stream)); error != vendor::success)
    return failed("allocation of " + std::to_string(bytes) + " bytes", error);
  return data;
}

Result<void*> allocate_on(int index, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  if (own_pool().serves(index)) return allocate_from_own_pool(index, bytes, stream);
  void* data = nullptr;
  const vendor::Error error = vendor::allocate_async(&data, bytes, handle_of(stream));
  if (error == vendor::success) return data;
  if (error == vendor::not_supported || figure(index, vendor::has_memory_pools) == 0) {
    (void)vendor::take_last_error();
    own_pool().serve(index);
    return allocate_from_own_pool(index, bytes, stream);
  }
  return failed("allocation of " + std::to_string(bytes) + " bytes on a stream", error);
}

void release_on(int index, void* data, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  const vendor::Error error = own_pool().serves(index) ? own_pool().release(data, handle_of(stream))
                                                       : vendor::release_async(data, handle_of(stream));
  if (error != vendor::success) (void)vendor::take_last_error();
}

Status copy(void* to, const void* from, std::size_t bytes) { return check("copy", vendor::copy(to, from, bytes)); }

Status copy_on(int index, void* to, const void* from, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("copy on a stream", vendor::copy_within_device_async(to, from, bytes, handle_of(stream)));
}

Status fill(int index, void* data, int value, std::size_t bytes, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("fill", vendor::fill_async(data, value, bytes, handle_of(stream)));
}

// ---- streams -------------------------------------------------------------------------------------------------------

Status synchronize(int index, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  return check("synchronization of a stream", vendor::synchronize(handle_of(stream)));
}

bool is_capturing(int index, Stream stream) {
  Guard guard({DeviceKind::cuda, index});
  vendor::CaptureStatus status = vendor::not_capturing;
  if (vendor::capture_status(handle_of(stream), &status) == vendor::success) return status != vendor::not_capturing;
  (void)vendor::take_last_error();
  return true;  // the default stream, which no call may use while another stream is captured
}

BesideCaptures::BesideCaptures() {
  vendor::CaptureMode mode = vendor::relaxed_capture;
  (void)vendor::exchange_capture_mode(&mode);
  former_ = static_cast<int>(mode);
}

BesideCaptures::~BesideCaptures() {
  auto mode = static_cast<vendor::CaptureMode>(former_);
  (void)vendor::exchange_capture_mode(&mode);
}

Guard::Guard(Device device) {
  int current = 0;
  if (device.kind != DeviceKind::cuda || vendor::get_device(&current) != vendor::success || current == device.index)
    return;
  if (vendor::set_device(device.index) == vendor::success) former_ = current;
}

Guard::~Guard() {
  if (former_ >= 0) (void)vendor::set_device(former_);
}

}  // namespace ridge::gpu
