// The tile scheduler of a persistent block of Family::wgmma for groups.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/simt/tile.hpp>

namespace ridge::gemm_kernels {

struct WgmmaTile {
  int row, col, batch;  // of D; batch: or the group
  int end;              // past the last row of D, or of the group
};

// Tiles are numbered group by group, so that tiles which run at the same time share a group's B and A in the L2 cache,
// and within a group by the raster. Block x takes tiles x, x + gridDim.x and so on. Every number has a tile, unlike the
// slots of one-tile blocks (groups.hpp): an empty slot would leave some blocks fewer tiles than others.
//
// Each warp that calls does so with all lanes. Each lane holds one of 32 consecutive groups, the window, and the number
// of tiles up to it; finding a tile takes a ballot, and moving the window reads 33 offsets.
template <class Policy> class GroupedTileScheduler {
  static constexpr Config c = Policy::config;
  static constexpr int width = 32;
  using Warp = simt::tile<width>;

 public:
  // W: WgmmaWork.
  template <class W>
  __device__ GroupedTileScheduler(const W& w, int /*rank*/) : groups_(w.groups), cols_(w.cols), index_(blockIdx.x) {
    look_from(0);
  }
  __device__ void next(unsigned n = 1) { index_ += n * gridDim.x; }
  __device__ bool more() {
    for (;;) {
      const unsigned tiles = Warp().shfl(until_, width - 1);
      if (index_ < tiles) return true;
      if (window_ + width >= groups_.count) return false;
      index_ -= tiles;
      look_from(window_ + width);
    }
  }
  // Precondition: more() has been called since the last next().
  __device__ WgmmaTile at() const {
    const int found = __ffsll(static_cast<long long>(Warp().ballot(until_ > index_))) - 1;
    const int group = window_ + found, first = row_of(group), end = row_of(group + 1);
    const unsigned rows = tile_rows(first, end), before = Warp().shfl(until_, found) - rows * cols_;
    const auto place = BasicRaster<unsigned>{rows, cols_, c.raster_group}.at(index_ - before);
    return {first + static_cast<int>(place.row) * c.bm, static_cast<int>(place.col) * columns(c), group, end};
  }

 private:
  __device__ int row_of(int group) const { return static_cast<int>(groups_.first(group)); }
  __device__ static unsigned tile_rows(int first, int end) {
    return end > first ? static_cast<unsigned>(end - first + c.bm - 1) / c.bm : 0;
  }
  __device__ void look_from(int window) {
    const int lane = static_cast<int>(threadIdx.x) % width, mine = window + lane;
    window_ = window;
    until_ = mine < groups_.count ? tile_rows(row_of(mine), row_of(mine + 1)) * cols_ : 0;
    RIDGE_UNROLL_ON_GPU
    for (int distance = 1; distance < width; distance *= 2) {
      const unsigned below = Warp().shfl_up(until_, distance);
      if (lane >= distance) until_ += below;
    }
  }

  const Groups& groups_;
  const unsigned& cols_;  // tile columns of D
  unsigned index_;        // the tile's number, counted from the window's first tile
  int window_;            // the window's first group
  unsigned until_;        // tiles of the window's groups, up to and with this lane's
};

}  // namespace ridge::gemm_kernels
