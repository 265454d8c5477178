// Launches a kernel whose blocks form clusters.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

#if RIDGE_SIMT_ON_CUDA
// As simt::launch, with an attribute; null: none.
template <class... P, class... A>
[[nodiscard]] Status launch_with(const simt::Config& config, cudaLaunchAttribute* attribute, void (*kernel)(P...),
                                 const A&... args) {
  cudaLaunchConfig_t launch{};
  launch.gridDim = config.grid;
  launch.blockDim = config.block;
  launch.dynamicSmemBytes = config.smem;
  launch.stream = static_cast<cudaStream_t>(config.stream);
  launch.attrs = attribute;
  launch.numAttrs = attribute ? 1 : 0;
  const cudaError_t e = cudaLaunchKernelEx(&launch, kernel, args...);
  if (e != cudaSuccess) (void)cudaGetLastError();
  return simt::detail::report(config, e);
}
#endif

// As simt::launch; neighbouring blocks in x are clusters of `cluster`.
template <class... P, class... A>
[[nodiscard]] Status launch_clusters(const simt::Config& config, int cluster, void (*kernel)(P...), const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  if (cluster > 1) return Status::error(Code::unsupported, "clusters of blocks are not emulated on the CPU");
  return simt::launch(config, kernel, args...);
#else
  if (const cudaError_t e =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(config.smem));
      e != cudaSuccess) {
    (void)cudaGetLastError();
    return simt::detail::report(config, e);
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  return launch_with(config, cluster > 1 ? &attribute : nullptr, kernel, args...);
#endif
}

}  // namespace ridge::tile::sm90
