// The finish: passes over the partial results of a row, a chunk to a block, until one is left. The finish of columns,
// whose partial results are [slices, rows], is in columns.hpp.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/reduce/variants.hpp>

#include <algorithm>

namespace ridge::reduce_detail {

inline constexpr int finish_threads = 1024;  // at most
inline constexpr int finish_vectors = 8;     // independent loads of each thread before the first use

// One block, and one launch, for as many slices as fill any chip (132 multiprocessors x 4 blocks x 32 waves: 16,896).
// For more (the textbook's 2^20 blocks), each block takes what its threads have in flight at once.
constexpr std::int64_t finish_chunk(std::int64_t slices) {
  return slices <= 32768 ? 32768 : finish_threads * finish_vectors;
}
// Threads of a block of the finish: few if they suffice, as a small block finishes sooner.
constexpr int finish_block(std::int64_t slices) { return slices <= 128 * finish_vectors ? 128 : finish_threads; }

constexpr int finish_passes(std::int64_t slices) {
  int passes = 1;
  for (; slices > finish_chunk(slices); slices = ceil_div(slices, finish_chunk(slices))) ++passes;
  return passes;
}
// Partial results of a row, of all passes together.
constexpr std::int64_t partial_count(std::int64_t slices) {
  std::int64_t count = slices;
  for (; slices > finish_chunk(slices); count += slices) slices = ceil_div(slices, finish_chunk(slices));
  return count;
}

// Bytes of one partial result, as the kernels assert.
constexpr int partial_bytes(Reduce f, DType dtype, Accumulate accumulate) {
  if (accumulate == Accumulate::two_float) return 8;
  if (locates(f)) return 16;  // a value and a tile
  if (f == Reduce::max || f == Reduce::min) return static_cast<int>(size_of(dtype));
  if (f == Reduce::mean && (dtype == DType::i32 || dtype == DType::i64)) return 16;  // a sum of 128 bits
  return is_floating(dtype) && dtype != DType::f64 ? 4 : 8;
}
constexpr int partial_bytes(const ReduceProblem& p) { return partial_bytes(p.function, p.dtype, p.accumulate); }

// Bytes of the workspace for `count` partial results.
constexpr std::size_t partials_room(std::int64_t count, const ReduceProblem& p) {
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(partial_bytes(p));
}

// ---- additions on an element's way to the result (Partition::additions)

constexpr int ceil_log2(std::int64_t n) {
  int log = 0;
  for (; n > 1; n = (n + 1) / 2) ++log;
  return log;
}
// Over a block's partial results: a tree in the warp of 32 (one of 64 adds one), then warp by warp.
constexpr std::int64_t block_additions(std::int64_t threads) { return ceil_log2(32) + threads / 32; }

constexpr std::int64_t finish_additions(std::int64_t slices) {
  std::int64_t depth = 0;
  for (;; slices = ceil_div(slices, finish_chunk(slices))) {
    const int threads = finish_block(slices);
    depth += ceil_div(std::min(slices, finish_chunk(slices)), threads) + block_additions(threads);
    if (slices <= finish_chunk(slices)) return depth;
  }
}

}  // namespace ridge::reduce_detail
