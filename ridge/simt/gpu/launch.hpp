// launch and dynamic_shared for a GPU's compiler.
#pragma once
#include <ridge/core/launch_limits.hpp>
#include <ridge/core/launch_recorder.hpp>
#include <ridge/simt/launch.hpp>

#include <cstdio>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

template <class T> __device__ __forceinline__ T* dynamic_shared() {
  // 128 bytes suit every vector access and bulk copy; swizzled tiles that need more align themselves.
  extern __shared__ __align__(128) unsigned char ridge_dynamic_shared_bytes[];
  return reinterpret_cast<T*>(ridge_dynamic_shared_bytes);
}

namespace detail {

inline Status report(const Config& c, vendor::Error e) {
  if (e == vendor::success) return {};
  char sentence[256];
  std::snprintf(sentence, sizeof sentence,
                "launch of grid (%u,%u,%u), block (%u,%u,%u), %zu bytes of shared memory: %s", c.grid.x, c.grid.y,
                c.grid.z, c.block.x, c.block.y, c.block.z, c.smem, vendor::text_of(e));
  return Status::error(Code::device_error, sentence);
}

// Reads the compiler's figures of the kernel, if it was compiled for this device.
inline Status record(LaunchRecorder& recorder, const Config& c, const void* kernel) {
  vendor::KernelFigures made;
  const vendor::Error e = vendor::get_figures(&made, kernel);
  if (e != vendor::success) {
    (void)vendor::take_last_error();
    return report(c, e);
  }
  recorder.kernels.push_back({.blocks = std::int64_t{c.grid.x} * c.grid.y * c.grid.z,
                              .threads = static_cast<int>(c.block.x * c.block.y * c.block.z),
                              .registers = made.numRegs,
                              .smem_bytes = static_cast<int>(made.sharedSizeBytes + c.smem),
                              .local_bytes = static_cast<int>(made.localSizeBytes)});
  return {};
}

// Static and dynamic shared memory together may exceed a limit (48 KB on CUDA) only after a request. The static part is
// not known here, so the request is made for every kernel with dynamic shared memory.
inline Status allow_shared(const Config& c, const void* kernel) {
  if (c.smem == 0 || !vendor::asks_for_shared) return {};
  int device = 0;
  vendor::Error e = vendor::get_device(&device);
  if (e == vendor::success)
    e = static_cast<vendor::Error>(allow_shared_bytes(
        kernel, device, c.smem, [](const void* of, int bytes) -> int { return vendor::allow_shared(of, bytes); }));
  if (e != vendor::success) (void)vendor::take_last_error();  // or the next launch would report it again
  return report(c, e);
}

}  // namespace detail

// Queues the kernel on the stream and returns the driver's status of the launch. The stream reports later faults of the
// kernel.
template <class... P, class... A>
[[nodiscard]] Status launch(const Config& config, void (*kernel)(P...), A&&... arguments) {
  static_assert(sizeof...(P) == sizeof...(A), "launch: as many arguments as the kernel has parameters");
  if (detail::empty(config)) return {};
  if (config.warp != native_warp)
    return Status::error(Code::invalid_argument, "launch: warp " + std::to_string(config.warp) + "; this device has " +
                                                     std::to_string(native_warp));
  if (LaunchRecorder* recorder = LaunchRecorder::current())
    return detail::record(*recorder, config, reinterpret_cast<const void*>(kernel));
  RIDGE_TRY(detail::allow_shared(config, reinterpret_cast<const void*>(kernel)));
  kernel<<<config.grid, config.block, config.smem, static_cast<vendor::Stream>(config.stream)>>>(
      static_cast<P>(std::forward<A>(arguments))...);
  return detail::report(config, vendor::take_last_error());
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
