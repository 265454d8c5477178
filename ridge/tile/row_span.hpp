// Short rows without gaps between them: how many of them a block loads at a time. Shared by plans and kernels;
// row_span.cuh is the kernels' side.
#pragma once
#include <ridge/core/vector_access.hpp>

#include <algorithm>
#include <cstdint>

namespace ridge::tile {

inline constexpr int span_most_cols = 32;  // the longest row: a thread keeps it in registers
inline constexpr int span_pair = 64;  // threads that share rows out between them (SpanRow): spans are multiples of it

// Bytes of shared memory for a span of rows: whole vectors, and one more for its offset within a vector.
constexpr int span_room(int rows, int cols, int element_bytes) {
  return (rows * cols * element_bytes + vector_bytes - 1) / vector_bytes * vector_bytes + vector_bytes;
}

// Rows of a span: about `bytes` of all tensors, fewer where there would be less than `blocks` spans, and at least one
// for each thread. row_bytes: of all tensors
constexpr int span_rows(int threads, std::int64_t rows, std::int64_t row_bytes, std::int64_t bytes,
                        std::int64_t blocks) {
  constexpr std::int64_t most_rows = 16;
  const std::int64_t by_bytes = bytes / (threads * std::max<std::int64_t>(row_bytes, 1)),
                     by_blocks = rows / (threads * blocks);
  return threads * static_cast<int>(std::clamp<std::int64_t>(std::min(by_bytes, by_blocks), 1, most_rows));
}

}  // namespace ridge::tile
