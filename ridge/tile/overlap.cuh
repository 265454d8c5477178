// Kernels of a stream that overlap: one that is launched by launch_overlapping() may begin when the blocks of the one before
// have called let_next_begin() or ended, and finds what that one wrote behind await_last().
#pragma once
#include <ridge/tile/launch_with.cuh>

namespace ridge::tile {

// Precondition of launch_overlapping(): cc 90, and machine code or PTX for it. On the CPU runtime kernels of a stream do not
// overlap, and these do nothing.
__device__ __forceinline__ void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_last() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

#if RIDGE_SIMT_ON_CUDA
inline cudaLaunchAttribute overlapping() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}
#endif

// As simt::launch.
template <class... P, class... A>
[[nodiscard]] Status launch_overlapping(const simt::Config& config, void (*kernel)(P...), const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  return simt::launch(config, kernel, args...);
#else
  const cudaLaunchAttribute overlaps = overlapping();
  return launch_with(config, &overlaps, 1, kernel, args...);
#endif
}

}  // namespace ridge::tile
