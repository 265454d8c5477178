// w's gradient by wgmma: all threads of a block load rows, which stay in registers until a scale is known; three of its
// warpgroups multiply, so that twelve tiles of lags are equal work for each.
#pragma once
#include <ridge/dwconv/sm90_lines.hpp>

namespace ridge::dwconv_detail {

inline constexpr int whole_lags_threads = 512, whole_lags_summing = 3, most_whole_chunks = 12;
inline constexpr int staged_words = whole_lags_summing * 4 * (chunk / 8 + 1) * 64;
// dy's and k's chunks, the staging of diagonals, two sums per lag, magnitudes of rows and marks, two barriers.
constexpr std::int64_t whole_lags_smem_bytes(std::int64_t chunks) {
  return 2 * chunks * lines_bytes +
         static_cast<std::int64_t>(sizeof(float)) * (staged_words + 2 * chunks * chunk + 3 * band_rows) + 2 * 8;
}
// Longer rows take w's gradient by mma.sync.
constexpr bool has_whole_lags(const DwconvProblem& p) { return whole_chunks(p) <= most_whole_chunks; }

}  // namespace ridge::dwconv_detail
