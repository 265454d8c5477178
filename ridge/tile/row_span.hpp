// Short rows without gaps between them: how many of them a block brings at a time. What plans and kernels agree on;
// row_span.cuh is the kernels' side.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ridge::tile {

inline constexpr int span_most_cols = 32;  // of a row: as many elements as a thread keeps
inline constexpr int span_pair = 64;  // threads among which rows are shared out (SpanRow): spans have whole such parts

// Bytes of shared memory that a span of rows takes: whole units, and one for where it begins within a unit.
constexpr int span_room(int rows, int cols, int element_bytes) {
  constexpr int unit = 16;
  return (rows * cols * element_bytes + unit - 1) / unit * unit + unit;
}

// Rows of a span: about `bytes` of all tensors, where that leaves a device `blocks` of them; a row of each thread at
// least. row_bytes: of all tensors
constexpr int span_rows(int threads, std::int64_t rows, std::int64_t row_bytes, std::int64_t bytes,
                        std::int64_t blocks) {
  constexpr std::int64_t most_turns = 16;
  const std::int64_t by_bytes = bytes / (threads * std::max<std::int64_t>(row_bytes, 1)),
                     by_blocks = rows / (threads * blocks);
  return threads * static_cast<int>(std::clamp<std::int64_t>(std::min(by_bytes, by_blocks), 1, most_turns));
}

}  // namespace ridge::tile
