// The sums of a gradient: of dz n and of dz over each channel's pixels, where dz is the gradient of what the activation
// was given, and n is x normalised. dgamma, dbeta and the sums of a group's dx are made of them. Kernels leave them in
// the workspace, after the statistics of groups, as rows of [2, c] floats: a row for each piece of a sample's pixels.
#pragma once
#include <ridge/group_norm/access.hpp>

#include <cstddef>

namespace ridge::group_norm_detail {

// Bytes of a slice of a group in the workspace: count, mean, sum of squares, and the mean's base (statistics.cuh).
inline constexpr int partial_bytes = 16;

inline constexpr int planes_threads = 256;  // of the kernel over planes, where a warp has a piece of a plane
inline constexpr int planes_loads = 4;      // of a lane, of x and of dy, before the first use
inline constexpr int finish_threads = 256;  // of the kernel that adds up rows
inline constexpr int finish_wide = 32;      // columns of the rows that its blocks have

struct SumsPlan {
  std::int64_t pieces = 0, rows = 0;   // of a sample's pixels; of all samples
  std::size_t sums_at = 0, bytes = 0;  // offset of the rows in the workspace; its size
};

// partials: slices of groups.
inline SumsPlan sums_plan(const GroupNormProblem& p, std::int64_t partials, std::int64_t pieces) {
  constexpr std::size_t line = 256;
  SumsPlan sums{.pieces = pieces, .rows = samples(p) * pieces};
  sums.sums_at = (static_cast<std::size_t>(partials) * partial_bytes + line - 1) / line * line;
  sums.bytes = sums.sums_at + static_cast<std::size_t>(sums.rows * 2 * channels(p)) * sizeof(float);
  return sums;
}

inline std::int64_t planes_of(const GroupNormProblem& p) { return samples(p) * channels(p); }
inline std::int64_t planes_blocks(const GroupNormProblem& p, std::int64_t pieces, int warp) {
  return ceil_div(planes_of(p) * pieces, planes_threads / warp);
}
inline std::int64_t finish_blocks(const GroupNormProblem& p) { return ceil_div(2 * channels(p), finish_wide); }

// Of the grids of these kernels, with room for a few pieces of each plane.
inline std::string refuse_sums(const GroupNormProblem& p) {
  constexpr std::int64_t most_planes = std::int64_t{1} << 30;
  return p.backward && planes_of(p) > most_planes ? "a gradient of more than 2^30 planes" : "";
}

// Adds the time of the kernel that adds up rows.
inline void add_finish(roofline::Kernel& k, const SumsPlan& sums, const DeviceInfo& device) {
  const auto bytes = static_cast<double>(sums.bytes);
  k.launches += 1;
  k.serial_us += 2 * device.memory_latency_us + (device.l2_gbs > 0 ? bytes / device.l2_gbs * 1e-3 : 0);
}

}  // namespace ridge::group_norm_detail
