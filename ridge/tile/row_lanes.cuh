// Who shares a row: where a thread stands among the lanes of its row, and how they sum up. A kernel over rows takes this
// as a template argument; the lanes are part of a warp, a block, or (tile/sm90) the blocks of a cluster.
#pragma once
#include <ridge/tile/row_reduce.cuh>

namespace ridge::tile {

// `Rows` rows of a block of Threads: a warp's part has one, or the whole block.
template <int Threads, int Rows, int WarpWidth> struct BlockRows {
  static constexpr int threads = Threads, rows = Rows, lanes = Threads / Rows, warp = WarpWidth;
  static_assert(lanes <= warp || Rows == 1, "a row of several warps is a whole block's");
  template <class V> using Scratch = RowScratch<V, lanes, warp>;

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  // The blocks that work on a row together are a team.
  static __device__ __forceinline__ int team() { return static_cast<int>(blockIdx.x); }
  static __device__ __forceinline__ int teams() { return static_cast<int>(gridDim.x); }
  static __device__ __forceinline__ int row_of_team() { return static_cast<int>(threadIdx.x) / lanes; }
  static __device__ __forceinline__ std::int64_t row() { return std::int64_t{team()} * Rows + row_of_team(); }

  // As row_reduce: two reductions in a row need two scratches.
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, Scratch<V>& scratch) {
    return row_reduce<lanes, warp>(value, f, scratch);
  }
  // What another block may still write here has come.
  static __device__ __forceinline__ void finish() {}
};

}  // namespace ridge::tile
