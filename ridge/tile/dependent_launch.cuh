// Programmatic dependent launch, CUDA's: a kernel that launch_dependent() launches may begin when all blocks of the
// kernel before it in the stream have called launch_dependents() or ended, and sees what that one wrote after
// grid_dependency_wait().
#pragma once
#include <ridge/tile/launch_with.cuh>

namespace ridge::tile {

// Both do nothing before Hopper, and on the CPU runtime, where the kernels of a stream do not overlap.
__device__ __forceinline__ void launch_dependents() {
#if RIDGE_CUDA_ARCH >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void grid_dependency_wait() {
#if RIDGE_CUDA_ARCH >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Prefetches the 128-byte line at p, in global memory, to the L2 cache. That is where kernels' writes meet, so it may
// stand before grid_dependency_wait(), also for a line that the kernel before writes; the line is read after it.
__device__ __forceinline__ void prefetch_line_l2([[maybe_unused]] const void* p) {
#if RIDGE_CUDA_ARCH
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

// The same for all lines of a row, by its lanes.
template <int Lanes, class T>
__device__ __forceinline__ void prefetch_lines_l2(const T* row, std::int64_t cols, int lane) {
  constexpr int line = 128 / static_cast<int>(sizeof(T));
#pragma unroll 1
  for (std::int64_t i = std::int64_t{lane} * line; i < cols; i += Lanes * line) prefetch_line_l2(row + i);
  if (lane == 0) prefetch_line_l2(row + cols - 1);  // the last line of a row that does not start on one
}

#if RIDGE_SIMT_ON_CUDA
inline cudaLaunchAttribute programmatic_launch() {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return attribute;
}
#endif

// As simt::launch, for a kernel that calls grid_dependency_wait(): programmatic on a Hopper. cc: of the device.
template <class... P, class... A>
[[nodiscard]] Status launch_dependent([[maybe_unused]] int cc, const simt::Config& config, void (*kernel)(P...),
                                      const A&... args) {
#if RIDGE_SIMT_ON_CUDA
  if (cc == 90) {
    const cudaLaunchAttribute programmatic = programmatic_launch();
    return launch_with(config, &programmatic, 1, kernel, args...);
  }
#endif
  return simt::launch(config, kernel, args...);
}

}  // namespace ridge::tile
