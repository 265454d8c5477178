// The threads that share a row: a thread's lane in its row, and the row's reduction. A kernel over rows takes this as a
// template argument. A row's lanes are part of a warp, or a block.
#pragma once
#include <ridge/tile/row_reduce.cuh>

namespace ridge::tile {

// `Rows` rows in a block of Threads: each has a part of a warp, or the whole block.
template <int Threads, int Rows, int WarpWidth> struct BlockRows {
  static constexpr int threads = Threads, rows = Rows, lanes = Threads / Rows, warp = WarpWidth;
  static_assert(lanes <= warp || Rows == 1, "a row of several warps is a whole block's");
  template <class V> using Scratch = RowScratch<V, lanes, warp>;

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  static __device__ __forceinline__ int row_of_block() { return static_cast<int>(threadIdx.x) / lanes; }
  static __device__ __forceinline__ std::int64_t row() { return std::int64_t{blockIdx.x} * Rows + row_of_block(); }

  // As row_reduce(): consecutive reductions need two scratches. Apart: the rows of a warp may diverge.
  template <bool Apart = false, class V, class F>
  static __device__ __forceinline__ V reduce(V value, F f, Scratch<V>& scratch) {
    return row_reduce<lanes, warp, Apart>(value, f, scratch);
  }
};

}  // namespace ridge::tile
