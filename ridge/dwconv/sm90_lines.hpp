// What Hopper's kernels share: a channel's rows of float32 in shared memory, in chunks of 32 rows of the batch.
#pragma once
#include <ridge/dwconv/sm80_lags.hpp>

namespace ridge::dwconv_detail {

inline constexpr int lines_bytes = 2 * component_bytes;  // of a chunk of 32 rows: lo and hi
inline constexpr int hi_lines = component_bytes;         // offset of hi
constexpr std::int64_t whole_chunks(const DwconvProblem& p) { return ceil_div(p.time, chunk); }

}  // namespace ridge::dwconv_detail
