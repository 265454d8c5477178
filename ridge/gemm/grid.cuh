// The launch configuration of this folder's kernels with a block per tile.
#pragma once
#include <ridge/core/stream.hpp>
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/simt/simt.hpp>

#include <algorithm>

namespace ridge::gemm_kernels {

// One block for each of `tiles` tiles of D, and in z one per matrix of the batch and slice as far as a grid reaches;
// groups are not matrices of a batch.
// Precondition: at most max_tiles tiles.
// Static: compiled by g++ for the CPU runtime and by nvcc, this is not one function.
static inline simt::Config grid_of(std::int64_t tiles, int threads, int smem, const Config& c, const Shape& shape,
                                   Stream stream, int warp) {
  return {.grid = dim3(static_cast<unsigned>(tiles), 1,
                       c.grouped ? 1 : static_cast<unsigned>(std::min(shape.batch * shape.slices, max_grid_z))),
          .block = dim3(static_cast<unsigned>(threads)),
          .smem = static_cast<std::size_t>(smem),
          .stream = stream.handle,
          .warp = warp};
}

}  // namespace ridge::gemm_kernels
