// Launches a kernel whose blocks form clusters.
#pragma once
#include <ridge/tile/launch_with.cuh>
#include <ridge/tile/sm90/arch.cuh>

namespace ridge::tile::sm90 {

#if RIDGE_SIMT_ON_CUDA
// A kernel must ask for clusters of more blocks than every device with clusters takes.
template <class... P>
[[nodiscard]] Status allow_cluster(const simt::Config& config, int cluster, void (*kernel)(P...)) {
  constexpr int portable = 8;
  if (cluster <= portable) return {};
  const cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (e != cudaSuccess) (void)cudaGetLastError();
  return simt::detail::report(config, e);
}

inline cudaLaunchAttribute clusters_of(int blocks) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  return attribute;
}
#endif

// As simt::launch, in clusters of `cluster` neighbouring blocks in x.
template <class... P, class... A>
[[nodiscard]] Status launch_clusters(const simt::Config& config, int cluster, void (*kernel)(P...), const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  if (cluster > 1) return Status::error(Code::unsupported, "clusters of blocks are not emulated on the CPU");
  return simt::launch(config, kernel, args...);
#else
  RIDGE_TRY(allow_cluster(config, cluster, kernel));
  const cudaLaunchAttribute clusters = clusters_of(cluster);
  return launch_with(config, &clusters, cluster > 1 ? 1 : 0, kernel, args...);
#endif
}

}  // namespace ridge::tile::sm90
