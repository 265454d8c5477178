// The kernels' side of row_slices.hpp.
#pragma once
#include <ridge/simt/simt.hpp>
#include <ridge/tile/row_slices.hpp>

namespace ridge::tile {

// This block's slice of a row. Precondition: gridDim.x == rows * of.of_row.
struct SliceOfBlock {
  std::int64_t row, begin, size;
  __device__ __forceinline__ SliceOfBlock(const Slices& of, std::int64_t cols) {
    row = blockIdx.x / of.of_row;
    begin = (blockIdx.x - row * of.of_row) * of.cols;
    size = ::min(of.cols, cols - begin);
  }
};

}  // namespace ridge::tile
