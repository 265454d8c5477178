// The configuration of a launch. Functions are static: the .cu files are compiled twice, for the CPU runtime and for
// CUDA, and both objects are in one library.
#pragma once
#include <ridge/batch_norm/families.hpp>
#include <ridge/simt/launch.hpp>

namespace ridge::batch_norm_detail {

static inline simt::Config launch_config(const Footprint& launch, Stream stream, int warp) {
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = stream.handle,
          .warp = warp};
}

}  // namespace ridge::batch_norm_detail
