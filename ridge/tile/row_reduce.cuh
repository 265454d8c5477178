// row_reduce: reduces one value per lane of a row to the same result in every lane. A row's lanes are part of a warp
// (no barrier), or a whole block (one barrier).
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

// Scratch of one reduction: a value per warp. Consecutive reductions need two, since no barrier stands between them.
template <class T, int Lanes, int Warp> struct RowScratch { T partial[Lanes > Warp ? Lanes / Warp : 1]; };

// Preconditions: Lanes is a power of two. If it exceeds Warp, it is the whole block, and all threads call; if not, all
// rows of a warp that have not returned call together (Apart: each row by itself).
// f is commutative and associative up to rounding; the order is fixed, so the result repeats bit for bit.
template <int Lanes, int Warp, bool Apart = false, class T, class F>
__device__ __forceinline__ T row_reduce(T value, F f, RowScratch<T, Lanes, Warp>& scratch) {
  static_assert((Lanes & (Lanes - 1)) == 0, "the lanes of a row are a power of two");
  if constexpr (Lanes <= Warp) {
    return simt::tile<Lanes, !Apart>().reduce(value, f);
  } else {
    constexpr int warps = Lanes / Warp;
    static_assert(warps <= Warp, "one lane per warp must be enough for the second step");
    const simt::tile<Warp> warp;
    value = warp.reduce(value, f);
    if (warp.rank() == 0) scratch.partial[warp.index()] = value;
    __syncthreads();
    // Every warp finishes by itself: a second barrier would cost more than the repeated work.
    return simt::tiles<warps>().reduce(scratch.partial[warp.rank() % warps], f);
  }
}

}  // namespace ridge::tile
