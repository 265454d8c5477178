// Few long rows split over many blocks: which columns a block has. What plans and kernels agree on.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ridge::tile {

// Slices of a row, none of which is empty: slice s has the columns from s * cols on, as many or what is left.
struct Slices {
  std::int64_t cols = 0;
  int of_row = 0;
};

// As many slices of each row as leave a device `blocks` blocks, but none of fewer than `least` elements. Slices are of
// whole lines of 128 elements, so that rows that start on a boundary have slices that do.
constexpr Slices slices_of(std::int64_t rows, std::int64_t cols, std::int64_t least, std::int64_t blocks) {
  constexpr std::int64_t line = 128;
  const std::int64_t by_blocks = std::max<std::int64_t>(blocks / std::max<std::int64_t>(rows, 1), 1);
  const std::int64_t wanted = std::clamp<std::int64_t>(cols / least, 1, by_blocks);
  Slices s;
  s.cols = std::max(((cols + wanted - 1) / wanted + line - 1) / line, std::int64_t{1}) * line;
  s.of_row = static_cast<int>((cols + s.cols - 1) / s.cols);
  return s;
}

}  // namespace ridge::tile
