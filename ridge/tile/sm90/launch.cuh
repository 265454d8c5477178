// Launches a kernel whose blocks form clusters.
#pragma once
#include <ridge/tile/launch_with.cuh>
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

#if RIDGE_SIMT_ON_CUDA
// What a launch asks for may be more than a kernel is allowed unasked.
template <class... P>
[[nodiscard]] Status allow(const simt::Config& config, void (*kernel)(P...), cudaFuncAttribute what, int value) {
  const cudaError_t e = cudaFuncSetAttribute(kernel, what, value);
  if (e == cudaSuccess) return {};
  (void)cudaGetLastError();
  return simt::detail::report(config, e);
}
template <class... P> [[nodiscard]] Status allow_shared(const simt::Config& config, void (*kernel)(P...)) {
  return allow(config, kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(config.smem));
}

inline cudaLaunchAttribute clusters_of(int blocks) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  return attribute;
}
#endif

// As simt::launch; neighbouring blocks in x are clusters of `cluster`.
template <class... P, class... A>
[[nodiscard]] Status launch_clusters(const simt::Config& config, int cluster, void (*kernel)(P...), const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  if (cluster > 1) return Status::error(Code::unsupported, "clusters of blocks are not emulated on the CPU");
  return simt::launch(config, kernel, args...);
#else
  RIDGE_TRY(allow_shared(config, kernel));
  constexpr int portable = 8;  // blocks of a cluster on every device that has clusters
  if (cluster > portable) RIDGE_TRY(allow(config, kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const cudaLaunchAttribute clusters = clusters_of(cluster);
  return launch_with(config, &clusters, cluster > 1 ? 1 : 0, kernel, args...);
#endif
}

}  // namespace ridge::tile::sm90
