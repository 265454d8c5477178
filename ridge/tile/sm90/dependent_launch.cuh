// Programmatic dependent launch (tile/dependent_launch.cuh) of kernels whose blocks form clusters.
#pragma once
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::tile::sm90 {

// As launch_clusters, for a kernel that calls grid_dependency_wait(). Precondition: cc 90.
template <class... P, class... A>
[[nodiscard]] Status launch_dependent_clusters(const simt::Config& config, int cluster, void (*kernel)(P...),
                                               const A&... args) {
#if !RIDGE_SIMT_ON_CUDA
  return launch_clusters(config, cluster, kernel, args...);
#else
  RIDGE_TRY(allow_cluster(config, cluster, kernel));
  const cudaLaunchAttribute attributes[] = {programmatic_launch(), clusters_of(cluster)};
  return launch_with(config, attributes, cluster > 1 ? 2 : 1, kernel, args...);
#endif
}

}  // namespace ridge::tile::sm90
