// Kernels of a stream that overlap: one that is launched by launch_overlapping() may begin when the blocks of the one before
// have called let_next_begin() or ended, and finds what that one wrote behind await_last().
#pragma once
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

__device__ __forceinline__ void let_next_begin() {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_last() {
#if RIDGE_SIMT_ON_CUDA
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// As simt::launch.
template <class... P, class... A>
[[nodiscard]] Status launch_overlapping(const simt::Config& config, void (*kernel)(P...), const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  return simt::launch(config, kernel, args...);
#else
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = config.grid;
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.smem;
  launch.stream = static_cast<cudaStream_t>(config.stream);
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, args...);
  if (e != cudaSuccess) (void)cudaGetLastError();
  return simt::detail::report(config, e);
#endif
}

}  // namespace ridge::tile::sm90
