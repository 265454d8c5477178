// Contiguous rows, as the loop of fold.cuh reads them: for the families of slices and of rows.
#pragma once
#include <ridge/reduce/request.hpp>

namespace ridge::reduce_detail {

constexpr Tiling fold_tiling(const Config& c, const Extent& e, int element_bytes) {
  const int row_threads = c.lanes > 0 ? c.lanes : c.threads, block_rows = c.threads / row_threads;
  return {.row_threads = row_threads,
          .row_elements = access_elements(c, element_bytes),
          .vectors = c.vectors,
          .block_rows = block_rows,
          .row_blocks = ceil_div(e.rows, block_rows)};
}

// Additions on a thread's chain, and those that combine the row's threads.
constexpr std::int64_t fold_additions(const Config& c, const Extent& e, std::int64_t slices, int element_bytes) {
  const int v = access_elements(c, element_bytes);
  const std::int64_t tiles =
      fold_tiling(c, e, element_bytes).slice_tiles(e.cols, slices) + (v > 1);  // a row may start amid an access
  return tiles * c.vectors + ceil_log2(v) + (v > 1 ? 2 : 0) +                  // 2: the row's edges
         (c.lanes > 0 ? ceil_log2(c.lanes) : block_additions(c.threads));
}

// Registers that nvcc 13 allocates for sm_90a, rounded up to the allocation unit.
constexpr int fold_registers(const Config& c, int element_bytes) {
  return c.vectors == 1 ? 32 : element_bytes <= 2 ? 56 : 40;
}

// A block's trips to memory. A tile that is not whole is read access by access.
constexpr double fold_trips(const Tiling& t, std::int64_t cols, std::int64_t slices) {
  const std::int64_t tile = t.tile_elements(), in_slice = ceil_div(cols, slices);
  if (cols > tile) return static_cast<double>(ceil_div(in_slice, tile));
  const std::int64_t whole = in_slice / tile, rest = in_slice % tile;
  return static_cast<double>(whole + ceil_div(rest, std::int64_t{t.row_threads} * t.row_elements));
}

}  // namespace ridge::reduce_detail
