// The threads of a block that share columns, and the reduction of what they found.
#pragma once
#include <ridge/simt/simt.hpp>
#include <ridge/tile/columns.hpp>

namespace ridge::tile {

// A thread's place in [groups, depth, lanes].
struct ColumnThread {
  int lane, level, group;
  __device__ __forceinline__ explicit ColumnThread(const ColumnBlock& k) {
    const int rank = simt::thread_rank();
    lane = rank % k.lanes;
    level = rank / k.lanes % k.depth;
    group = rank / (k.lanes * k.depth);
  }
};

// Bytes of dynamic shared memory that merge_levels() needs: V partial results for each of a block's threads.
template <class Partial, int V> constexpr std::size_t column_scratch(int threads) {
  return static_cast<std::size_t>(threads) * V * sizeof(Partial);
}

// Reduces `mine` by f over the levels, into level 0's: a tree, the same from run to run. All of the block's threads
// call.
template <class Partial, int V, class F>
__device__ __forceinline__ void merge_levels(simt::vec<Partial, V>& mine, const ColumnThread& at, const ColumnBlock& k,
                                             F f) {
  // [groups, depth, lanes, V]; each step of the tree has room of its own, so that one barrier is enough between steps.
  Partial* scratch = simt::dynamic_shared<Partial>();
  for (int half = k.depth / 2; half > 0; half /= 2) {
    const auto place = [&](int level) {
      return scratch + ((at.group * k.depth + k.depth - 2 * half + level) * k.lanes + at.lane) * V;
    };
    if (at.level >= half && at.level < 2 * half) simt::store(place(at.level - half), mine);
    __syncthreads();
    if (at.level < half) {
      const auto other = simt::load<V>(place(at.level));
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) mine[v] = f(mine[v], other[v]);
    }
  }
  if (k.depth > 1) __syncthreads();  // the scratch is free again
}

}  // namespace ridge::tile
