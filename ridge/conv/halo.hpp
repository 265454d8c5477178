// 8 x 4 outputs of one filter per thread, whose inputs, the halo around them included, are in shared memory: channel by
// channel, or with the next channel's on their way while one is computed.
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

inline constexpr int halo_strip = 4;  // neighbouring outputs of a thread: one 16-byte access of shared memory
// Threads along a row of outputs: shared memory answers eight lanes' accesses of 16 bytes at a time, from all 32 banks.
inline constexpr int halo_lanes = 8;
// A thread's eight columns are two strips half a tile apart, so that neighbouring lanes' strips are neighbours. Eight
// columns in a row would be 32 bytes from lane to lane: half of the banks, twice.
inline constexpr int halo_strips = 2;
inline constexpr int halo_half = halo_lanes * halo_strip;  // columns from a thread's first strip to its second
inline constexpr int halo_columns = halo_strips * halo_half;
constexpr int halo_rows(const Config& c) { return c.threads / halo_lanes * c.rows; }

// ---- a stage of shared memory: a channel's inputs, [rows][pitch], and the filter's taps for it, [r][tap_pitch]

// Taps are read by vectors of as many as a strip has outputs.
constexpr std::int64_t halo_tap_pitch(std::int64_t s) { return ceil_div(s, halo_strip) * halo_strip; }
// Inputs too: the last taps' vector reaches up to a strip beyond the last output.
constexpr std::int64_t halo_pitch(std::int64_t s) { return halo_columns + halo_tap_pitch(s); }
constexpr std::int64_t halo_input_rows(const Config& c, std::int64_t r) { return halo_rows(c) + r - 1; }
constexpr std::int64_t halo_image_floats(const Config& c, std::int64_t r, std::int64_t s) {
  return halo_input_rows(c, r) * halo_pitch(s);
}
constexpr std::int64_t halo_stage_bytes(const Config& c, std::int64_t r, std::int64_t s) {
  return static_cast<std::int64_t>(sizeof(float)) * (halo_image_floats(c, r, s) + r * halo_tap_pitch(s));
}
// The outputs, [halo_rows()][halo_columns], take the place of the first stage in the end: inputs are no fewer, whatever
// the filter.
constexpr std::int64_t halo_smem_bytes(const Config& c, std::int64_t r, std::int64_t s) {
  return c.stages * halo_stage_bytes(c, r, s);
}

constexpr std::int64_t halo_grid(const Config& c, const ConvProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], halo_rows(c)) * ceil_div(p.y.shape[3], halo_columns);
}

namespace halo {

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const ConvGeometry& g = p.geometry;
  if (p.dtype != f32) return only_f32;
  if (p.backward) return no_gradients;
  if (g.stride != ConvPair{} || g.dilation != ConvPair{}) return "stride or dilation is not 1";
  if (channels_last(p)) return "channels are innermost";
  if (reach_in_image(p.x, p) >= int_range) return "offsets of 2^31 or more within an image";
  if (std::string why = refuse_large_planes(p); !why.empty()) return why;
  if (halo_grid(c, p) >= Divider::limit) return "more than 2^31 blocks";
  if (real(channels_of_group(p)) >= int_range - c.stages) return "2^31 channels or more";
  constexpr std::int64_t many = 1 << 12;  // rows or columns above any device's shared memory, before products overflow
  if (std::max(p.w.shape[2], p.w.shape[3]) >= many) return "filters larger than shared memory";
  return refuse_smem(halo_smem_bytes(c, p.w.shape[2], p.w.shape[3]), device);
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  return {.grid = halo_grid(c, p),
          .threads = c.threads,
          .registers = c.stages == 1 ? 72 : 80,
          .smem = static_cast<int>(halo_smem_bytes(c, p.w.shape[2], p.w.shape[3]))};
}

// Instructions of a copy, with address and bounds, and of an output, with an empty epilogue; counted in the source.
inline constexpr double copy_instructions = 8, output_instructions = 20;

// Of a block, in clocks of a multiprocessor, which issues four warp instructions and serves one wavefront of shared
// memory in each.
inline double clocks_of_block(const Config& c, const ConvProblem& p) {
  const double r = real(p.w.shape[2]), warps = real(c.threads / 32), channels = real(channels_of_group(p));
  const double vectors = real(halo_tap_pitch(p.w.shape[3]) / halo_strip), input_rows = real(c.rows) + r - 1;
  const double outputs = real(c.rows * halo_strips * halo_strip);  // of a thread
  const double products = real(taps_of(p)) * outputs;
  const double input_reads = input_rows * halo_strips * (1 + vectors), tap_reads = real(c.rows) * r * vectors;
  // By elements; rows are aligned to vectors only without padding, or with that of whole vectors.
  const double row_copies = std::ceil(real(halo_pitch(p.w.shape[3])) / 32);
  const double copies = real(halo_input_rows(c, p.w.shape[2])) / warps * row_copies;
  const double issued = (products + input_reads + tap_reads + copies * copy_instructions) / 4;
  // 32 lanes' vectors are 512 bytes, four wavefronts. A tap's is the same for all lanes: two, as the trace counts it,
  // by half a warp at a time.
  const double wavefronts = input_reads * 4 + tap_reads * 2 + copies;
  const double stores = outputs * output_instructions / 4;
  return warps * (channels * std::max(issued, wavefronts) + stores);
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  const double channels = real(channels_of_group(p)), stage = real(halo_stage_bytes(c, p.w.shape[2], p.w.shape[3]));
  k.clocks = real(k.blocks) * clocks_of_block(c, p);
  k.l2_bytes = std::max(0.0, real(k.blocks) * channels * stage - k.bytes_read);  // each filter's block reads the inputs
  // One stage: each channel is waited for. More: they arrive while others are computed, but for the first.
  k.trips = std::max(1.0, c.stages == 1 ? channels : 1);
  k.trip_bytes = stage;
  k.block_us = 1;  // barriers, as in direct
  k.tile_efficiency = plane_efficiency(p, halo_rows(c), halo_columns);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace halo
}  // namespace ridge::conv_detail
