// The ladder's first steps: one unit per access.
#pragma once
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/pieces.cuh>
#include <ridge/transpose/textbook.hpp>

namespace ridge::transpose_detail {

// A thread per unit: 32 lanes read a stretch of a row, and write to 32 columns.
//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Precondition: gridDim.x is all tiles, of 32 columns and threads / 32 rows.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) transpose_naive(const T* x, T* y, Form f, Tiles tiles) {
  const TileIndex at = tile_of_block<1>(tiles);
  const std::int64_t row = std::int64_t{at.row} * (Policy::config.threads / square_side) + threadIdx.x / square_side;
  const std::int64_t col = std::int64_t{at.col} * square_side + threadIdx.x % square_side;
  if (row >= f.rows || col >= f.cols) return;
  const Axes::Offsets matrix = f.outer(at.matrix);
  y[matrix.y + col * f.pitch_y + row] = x[matrix.x + row * f.pitch_x + col];
}

// Position of unit (row, col) of a square in shared memory.
template <class Policy> __device__ __forceinline__ int square_at(int row, int col) {
  if constexpr (Policy::config.swizzle) return row * square_side + (col ^ row);
  else return row * (square_side + Policy::config.pad) + col;
}

// A square of 32 x 32 units: rows of x are stored in shared memory and read back by columns as rows of y.
//                                                            x: [matrices][rows, cols]  y: [matrices][cols, rows]
// Precondition: gridDim.x is all squares.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) transpose_square(const T* x, T* y, Form f, Tiles tiles) {
  constexpr int step = Policy::config.threads / square_side;  // rows that the block moves at once
  constexpr int units = square_side / step;                   // per thread
  T* square = simt::dynamic_shared<T>();
  const TileIndex at = tile_of_block<1>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const int lane = threadIdx.x % square_side, first = threadIdx.x / square_side;
  const std::int64_t row0 = std::int64_t{at.row} * square_side, col0 = std::int64_t{at.col} * square_side;
  x += matrix.x + row0 * f.pitch_x + col0;
  y += matrix.y + col0 * f.pitch_y + row0;
  const int rows = static_cast<int>(min(f.rows - row0, std::int64_t{square_side}));
  const int cols = static_cast<int>(min(f.cols - col0, std::int64_t{square_side}));

  T value[units];
#pragma unroll
  for (int u = 0; u < units; ++u) {
    const int row = first + u * step;
    if (row < rows && lane < cols) value[u] = x[row * f.pitch_x + lane];
  }
#pragma unroll
  for (int u = 0; u < units; ++u) {
    const int row = first + u * step;
    if (row < rows && lane < cols) square[square_at<Policy>(row, lane)] = value[u];
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < units; ++u) {
    const int col = first + u * step;
    if (col < cols && lane < rows) y[col * f.pitch_y + lane] = square[square_at<Policy>(lane, col)];
  }
}

namespace textbook {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  const Tiles tiles = tiles_of(Policy::config, call.form);
  if constexpr (is_square(Policy::config))
    return simt::launch(launch_config(call), transpose_square<Policy, T>, call.x, call.y, call.form, tiles);
  else return simt::launch(launch_config(call), transpose_naive<Policy, T>, call.x, call.y, call.form, tiles);
}

}  // namespace textbook
}  // namespace ridge::transpose_detail
