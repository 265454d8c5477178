// w's gradient by mma.sync, which the rows of several families take: a block has one channel, in bands of lags; each
// warp has 32 x 32 products of steps of dy and k.
#pragma once
#include <ridge/dwconv/sm80_split.hpp>

namespace ridge::dwconv_detail {

inline constexpr int band_threads = 384, band_tile = 32;
inline constexpr int band_load_threads = 256;  // threads that load; eight for each row of a chunk
inline constexpr int band_lags = band_threads / 32 * band_tile;
inline constexpr int band_rows = 32;  // rows of the batch and of time segments, summed in one pass of mma
inline constexpr int band_window = band_lags / chunk + 1;  // chunks of k that a chunk of dy meets
inline constexpr int band_ring = band_window + 1;          // and the one in flight
inline constexpr int band_pitch = band_tile + 1;           // of a warp's products, when diagonals are summed
constexpr int component_bytes = band_rows * line_bytes;    // a chunk of one component
constexpr int band_stage_bytes(DType dtype) {
  return std::max((band_ring + 2) * components(dtype) * component_bytes,
                  band_threads / 32 * band_tile * band_pitch * static_cast<int>(sizeof(float)));
}
// Chunks, or products when diagonals are summed; three words per row; and the sums of all lags.
constexpr std::int64_t band_smem_bytes(const DwconvProblem& p) {
  return band_stage_bytes(p.dtype) + static_cast<std::int64_t>(sizeof(float)) * (3 * band_rows + lags(p));
}
// A batch of less than 32 is split along time into segments, each a row of its own; their steps are whole chunks.
constexpr std::int64_t segments(const DwconvProblem& p) {
  return std::max<std::int64_t>(
      1, std::min<std::int64_t>(band_rows / std::max<std::int64_t>(p.batch, 1), ceil_div(p.time, 4 * chunk)));
}
constexpr std::int64_t segment_steps(const DwconvProblem& p) {
  return ceil_div(ceil_div(p.time, segments(p)), chunk) * chunk;
}

inline double band_clocks(const DwconvProblem& p, const DeviceInfo& device) {
  return mma_clocks(p, device, static_cast<double>(p.batch), band_lags / 2, 1.2);
}

}  // namespace ridge::dwconv_detail
