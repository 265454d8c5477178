// The launch configuration of this folder's kernels.
#pragma once
#include <ridge/core/stream.hpp>
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/raster.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::gemm_kernels {

// One block per tile of D, and in z one per matrix of the batch and slice as far as a grid reaches; groups are not
// matrices of a batch.
// Precondition: at most max_tiles tiles.
// Static: compiled by g++ for the CPU runtime and by nvcc, this is not one function.
static inline simt::Config grid_of(const Config& c, DType dtype, const Shape& shape, Stream stream, int warp) {
  return {.grid = dim3(static_cast<unsigned>(tiles_of(c, shape)), 1,
                       c.grouped ? 1 : static_cast<unsigned>(std::min(shape.batch * shape.slices, max_grid_z))),
          .block = dim3(static_cast<unsigned>(threads(c))),
          .smem = static_cast<std::size_t>(smem_bytes(c, dtype)),
          .stream = stream.handle,
          .warp = warp};
}

}  // namespace ridge::gemm_kernels
