// Few long rows, each split over many blocks: which columns a block has. Shared by plans and kernels.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ridge::tile {

// The slices of a row, none of them empty: slice s is the columns from s * cols on, `cols` of them or what is left.
struct Slices {
  std::int64_t cols = 0;
  int of_row = 0;
};

// Slices for about `blocks` blocks in all, none of fewer than `least` elements. A slice is a multiple of 128 elements,
// so that aligned rows have aligned slices.
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
