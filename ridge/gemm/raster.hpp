// Raster: the tile scheduler. It maps a block to a tile of D so that blocks which run at the same time share operands
// in the L2 cache.
#pragma once
#include <ridge/core/api.hpp>

#include <cstdint>

namespace ridge::gemm_kernels {

template <class Int> struct BasicTileAt {
  Int row, col;  // in tiles
};
using TileAt = BasicTileAt<std::int64_t>;

// Tiles go down a rasterization group of `group` tile rows, column by column, then to the next group: the resident
// tiles form about a group x (resident / group) rectangle, which needs the fewest rows of A and columns of B.
template <class Int> struct BasicRaster {
  Int rows, cols;  // of tiles
  int group;

  RIDGE_HD constexpr Int tiles() const { return rows * cols; }
  // Precondition: 0 <= index < tiles().
  RIDGE_HD constexpr BasicTileAt<Int> at(Int index) const {
    const Int whole = static_cast<Int>(group);
    const Int group_tiles = whole * cols, group_index = index / group_tiles, within = index - group_index * group_tiles;
    const Int first = group_index * whole, height = rows - first < whole ? rows - first : whole;  // of this group
    const Int col = within / height;
    return {first + within - col * height, col};
  }
};
using Raster = BasicRaster<std::int64_t>;

inline constexpr std::int64_t max_tiles = 0x7fffffff, max_grid_z = 65535;  // blocks in x and in z, on every device

// Tile rows of a rasterization group: near the square root of the blocks resident on a large GPU.
inline constexpr int default_raster_group = 8;

RIDGE_HD constexpr Raster raster_of(std::int64_t m, std::int64_t n, int bm, int bn) {
  return {(m + bm - 1) / bm, (n + bn - 1) / bn, default_raster_group};
}

}  // namespace ridge::gemm_kernels
