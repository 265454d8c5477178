// Many products in one launch, each of some rows of A with its own B, with the tiles of thread_tile.cuh. The device
// finds tiles from the groups' offsets.
#pragma once
#include <ridge/gemm/groups.hpp>
#include <ridge/gemm/thread_tile.cuh>

namespace ridge::gemm_kernels {

// epilogue(A_g B_g) for the rows of each group g     a: [m, k]  b: [groups, n, k]  offsets: [groups + 1]
// The epilogue is called with At::batch = g and the row in A. Rows before offsets[0] and from offsets[groups] on are in
// no group, and the epilogue is not called for them.
// Preconditions: those of gemm_thread_tile, with a contiguous along k or in no axis, since groups begin at any row;
// shape.batch is the number of groups; gridDim.x is grouped_tiles().
template <class Policy, class T, Major MA, Major MB, class Epilogue>
__global__ void __launch_bounds__(thread_tile_threads(Policy::config), Policy::config.blocks_per_sm)
    gemm_grouped(Operand<T> a, OperandB<Policy, T> b, const std::int32_t* offsets, Shape shape, Epilogue epilogue) {
  constexpr Config c = Policy::config;
  static_assert(MA != Major::outer, "a group's first row would have to start on what an access needs");
  // Blocks go through all slots of a tile column first: those that run at the same time share columns of B.
  const std::int64_t slots = group_slots(shape.m, shape.batch, c.bm), col = blockIdx.x / slots;
  const GroupTile at = group_tile({offsets, shape.batch, shape.m}, c.bm, blockIdx.x - col * slots);
  if (at.rows == 0) return;  // all threads of the block
  a.data += at.first * a.outer_stride;
  compute_tile<Policy, T, MA, MB>(a, b, at.group, {at.tile, col}, {at.rows, shape.n, shape.k},
                                  RowsFrom<Epilogue>{epilogue, at.first});
}

// Launches the kernel.
template <class Policy, class T, Major MA, Major MB, class Epilogue>
[[nodiscard]] static Status launch_grouped(const Operand<T>& a, const OperandB<Policy, T>& b,
                                           const std::int32_t* offsets, const Shape& shape, const Epilogue& epilogue,
                                           Stream stream = {}, int warp = simt::native_warp) {
  constexpr Config c = Policy::config;
  const simt::Config at = grid_of(tiles_of(c, shape), thread_tile_threads(c), thread_tile_smem_bytes(c, dtype_of<T>), c,
                                  shape, stream, warp);
  return simt::launch(at, gemm_grouped<Policy, T, MA, MB, Epilogue>, a, b, offsets, shape, epilogue);
}

}  // namespace ridge::gemm_kernels
