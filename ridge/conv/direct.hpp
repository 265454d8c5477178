// Few channels: shared memory holds the inputs of a tile of outputs, read once for all filters of 3 x 3 or 6 x 6.
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

inline constexpr int direct_lanes = 32;  // threads along a row
inline constexpr int direct_strip = 4;   // neighbouring outputs of a thread: one 16-byte access of shared memory
inline constexpr int direct_columns = direct_lanes * direct_strip;  // of outputs, in a block's tile
constexpr int direct_rows(const Config& c) { return c.threads / direct_lanes * c.rows; }
constexpr int direct_input_rows(const Config& c) { return direct_rows(c) + c.size - 1; }
// A strip's window is read in whole vectors, in the last lane too.
constexpr int direct_window(const Config& c) { return (direct_strip + c.size - 1 + 3) / 4 * 4; }
constexpr int direct_pitch(const Config& c) { return direct_columns - direct_strip + direct_window(c); }
// The elements of one row of `filters` filters, [size][filters], rounded up to whole 16-byte vectors.
constexpr int direct_filter_row(const Config& c) { return (c.size * c.filters + 3) / 4 * 4; }
constexpr std::int64_t direct_image_floats(const Config& c, std::int64_t channels) {
  return channels * direct_input_rows(c) * direct_pitch(c);
}
constexpr std::int64_t direct_filter_floats(const Config& c, std::int64_t channels, std::int64_t filters) {
  return ceil_div(filters, c.filters) * channels * c.size * direct_filter_row(c);
}
// The tile of inputs of all channels, all filters, and the staging of each thread's outputs.
constexpr std::int64_t direct_smem_bytes(const Config& c, std::int64_t channels, std::int64_t filters) {
  return static_cast<std::int64_t>(sizeof(float)) *
         (direct_image_floats(c, channels) + direct_filter_floats(c, channels, filters) +
          direct_rows(c) * direct_columns);
}
constexpr std::int64_t direct_grid(const Config& c, const ConvProblem& p) {
  return p.y.shape[0] * p.geometry.groups * ceil_div(p.y.shape[2], direct_rows(c)) *
         ceil_div(p.y.shape[3], direct_columns);
}

namespace direct {

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const ConvGeometry& g = p.geometry;
  if (p.dtype != f32) return only_f32;
  if (p.backward) return no_gradients;
  if (p.w.shape[2] != c.size || p.w.shape[3] != c.size)
    return "filters are not " + std::to_string(c.size) + "x" + std::to_string(c.size);
  if (g.stride != ConvPair{} || g.dilation != ConvPair{}) return "stride or dilation is not 1";
  if (c.filters == 1 && filters_of_group(p) != 1) return "groups have more than one filter";
  if (channels_last(p)) return "channels are innermost";
  if (reach_in_image(p.x, p) >= int_range) return "offsets of 2^31 or more within an image";
  if (std::string why = refuse_large_planes(p); !why.empty()) return why;
  if (direct_grid(c, p) >= Divider::limit) return "more than 2^31 blocks";
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  constexpr std::int64_t many = 1 << 20;  // products of fewer channels and filters do not overflow
  if (channels >= many || filters >= many) return "filters larger than shared memory";
  return roofline::refuse_smem(direct_smem_bytes(c, channels, filters), device);
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  return {.grid = direct_grid(c, p),
          .threads = c.threads,
          .registers = c.filters > 4 ? 128 : 80,
          .smem = static_cast<int>(direct_smem_bytes(c, channels_of_group(p), filters_of_group(p)))};
}

inline double clocks(const Config& c, const ConvProblem& p) {
  const double channels = real(channels_of_group(p)), filters = real(filters_of_group(p));
  const double blocks = real(direct_grid(c, p)), row_groups = real(c.threads / direct_lanes);
  const double filter_passes = std::ceil(filters / c.filters);
  const double reads = direct_filter_row(c) / 4.0 + direct_window(c) / 4.0;
  const double products_of_row = real(c.size * c.filters * c.rows * direct_strip);
  const double copies = channels * direct_input_rows(c) / row_groups * std::ceil(direct_pitch(c) / 32.0) * 8;
  // Instructions of an output: only bias and relu have short code; the others measured on an H200, depthwise with silu.
  const Activation activation = p.epilogue.activation;
  const bool cheap = !p.residual && (activation == Activation::none || activation == Activation::relu);
  const double stores = real(c.rows * filters_of_group(p)) * direct_strip * (cheap ? 5 : 100);
  // Two operands of a product are often in the same register bank.
  constexpr double bank_conflicts = 1.35;
  return blocks * row_groups / 4 *
         (filter_passes * channels * c.size * (products_of_row * bank_conflicts + 2 * reads) + copies + stores);
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.clocks = clocks(c, p);
  k.block_us = 1;
  k.tile_efficiency = plane_efficiency(p, direct_rows(c), direct_columns);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace direct
}  // namespace ridge::conv_detail
