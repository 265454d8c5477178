// Launches with CUDA's launch attributes.
#pragma once
#include <ridge/core/launch_recorder.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

#if RIDGE_SIMT_ON_CUDA
// As simt::launch, with attributes.
template <class... P, class... A>
[[nodiscard]] Status launch_with(const simt::Config& config, const cudaLaunchAttribute* attributes, unsigned count,
                                 void (*kernel)(P...), const A&... args) {
  if (LaunchRecorder* recorder = LaunchRecorder::current())
    return simt::detail::record(*recorder, config, reinterpret_cast<const void*>(kernel));
  RIDGE_TRY(simt::detail::allow_shared(config, reinterpret_cast<const void*>(kernel)));
  cudaLaunchConfig_t launch{};
  launch.gridDim = config.grid;
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.smem;
  launch.stream = static_cast<cudaStream_t>(config.stream);
  launch.attrs = const_cast<cudaLaunchAttribute*>(attributes);  // only read
  launch.numAttrs = count;
  const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, args...);
  if (e != cudaSuccess) (void)cudaGetLastError();
  return simt::detail::report(config, e);
}
#endif

}  // namespace ridge::tile
