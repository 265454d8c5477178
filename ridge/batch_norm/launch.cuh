// The configuration of a launch. Functions are static: the .cu files are compiled twice, for the CPU runtime and for
// CUDA, and both objects are in one library.
#pragma once
#include <ridge/batch_norm/families.hpp>
#include <ridge/simt/launch.hpp>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::batch_norm_detail {

static inline simt::Config launch_config(const Footprint& launch, Stream stream, int warp) {
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = stream.handle,
          .warp = warp};
}

// Launches a kernel that reads what the call's kernel before it has written, behind grid_dependency_wait(); after:
// whether there is one. It may begin beside that one, which began when all of the call's tensors were there.
template <class... P, class... A>
static inline Status launch_after(bool after, const BatchNormPlan& plan, const simt::Config& at, void (*kernel)(P...),
                                  const A&... args) {
  if (after) return tile::launch_dependent(plan.device.cc, at, kernel, args...);
  return simt::launch(at, kernel, args...);
}

}  // namespace ridge::batch_norm_detail
