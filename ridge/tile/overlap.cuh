// Kernels of a stream that overlap: one that is launched by launch_overlapping() may begin when the blocks of the one
// before have called let_next_begin() or ended, and finds what that one wrote behind await_last().
#pragma once
#include <ridge/tile/launch_with.cuh>

namespace ridge::tile {

// Precondition of launch_overlapping(): cc 90, and machine code or PTX for it. On the CPU runtime kernels of a stream
// do not overlap, and these do nothing.
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

// Has the line of 128 bytes at p, in global memory, brought to the L2 cache. That is where kernels' writes meet, so it
// may stand before await_last(), also for a line that the kernel before writes; what is read there is read behind it.
__device__ __forceinline__ void bring_line([[maybe_unused]] const void* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

// The same of all lines of a row, by its lanes.
template <int Lanes, class T> __device__ __forceinline__ void bring_lines(const T* row, std::int64_t cols, int lane) {
  constexpr int line = 128 / static_cast<int>(sizeof(T));
#pragma unroll 1
  for (std::int64_t i = std::int64_t{lane} * line; i < cols; i += Lanes * line) bring_line(row + i);
  if (lane == 0) bring_line(row + cols - 1);  // of a row that starts off a line
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
