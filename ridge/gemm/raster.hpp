// Raster: the tile scheduler. It says which tile of D a block computes, so that blocks which run at the same time share
// operands in the L2 cache.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::gemm_kernels {

template <class Int> struct BasicTileAt {
  Int row, col;  // in tiles
};
using TileAt = BasicTileAt<std::int64_t>;

// Tiles go down a band of `group` tile rows column by column, then to the next band: what is resident at any time is a
// block of about group x (resident / group) tiles, which needs the fewest rows of A and columns of B.
template <class Int> struct BandRaster {
  Int rows, cols;  // of tiles
  int group;

  RIDGE_HD constexpr Int tiles() const { return rows * cols; }
  // Precondition: 0 <= index < tiles().
  RIDGE_HD constexpr BasicTileAt<Int> at(Int index) const {
    const Int whole = static_cast<Int>(group);
    const Int band_tiles = whole * cols, band = index / band_tiles, within = index - band * band_tiles;
    const Int first = band * whole, height = rows - first < whole ? rows - first : whole;  // of this band
    const Int col = within / height;
    return {first + within - col * height, col};
  }
};
using Raster = BandRaster<std::int64_t>;

inline constexpr std::int64_t max_tiles = 0x7fffffff, max_grid_z = 65535;  // blocks in x and in z, on every device

// How many tile rows a band has: near the square root of the blocks that are resident on a large GPU.
inline constexpr int raster_group = 8;

RIDGE_HD constexpr Raster raster_of(std::int64_t m, std::int64_t n, int bm, int bn) {
  return {(m + bm - 1) / bm, (n + bn - 1) / bn, raster_group};
}

}  // namespace ridge::gemm_kernels
