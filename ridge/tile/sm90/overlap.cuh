// Kernels of a stream that overlap: one that is launched by launch_overlapping() may begin when the blocks of the one before
// have called let_next_begin() or ended, and finds what that one wrote behind await_last().
#pragma once
#include <ridge/tile/sm90/launch.cuh>

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
  return launch_with(config, &attribute, kernel, args...);
#endif
}

}  // namespace ridge::tile::sm90
