// Convolutions in float32 by multiply-adds; Hopper's TMA gathers the operands.
#pragma once
#include <ridge/conv/sm90_gathering.hpp>

namespace ridge::conv_detail {

// A warp has 8 threads along pixels and 4 along filters; a thread has Config::rows pixels and fma_own_filters filters.
inline constexpr int fma_pixel_lanes = 8, fma_filter_lanes = 4, fma_own_filters = 8;
constexpr int fma_warps(const Config& c) {
  return c.tile_pixels / (fma_pixel_lanes * c.rows) * (c.tile_filters / (fma_filter_lanes * fma_own_filters));
}
// A step is a line of 128 bytes.
constexpr gemm_kernels::Config fma_tile(const Config& c) {
  gemm_kernels::Config tile;
  tile.bm = c.tile_pixels;
  tile.bn = c.tile_filters;
  tile.bk = c.step;
  tile.line = c.step * 4;
  tile.stages = c.stages;
  return tile;
}
constexpr int fma_smem_bytes(const Config& c) {
  return c.stages * ((c.tile_pixels + c.tile_filters) * 128 + 2 * 8);  // and barriers: full, empty
}

namespace fma {

inline Gathering gathering(const Config& c, const ConvProblem& p) { return gathering_of(p, c.step, true); }

inline gemm_kernels::Shape shape_of(const Gathering& g, const Config& c, const ConvProblem& p, int wanted) {
  return shape_in_slices(p, false, g.steps(c.step), wanted);
}
inline gemm_kernels::Shape shape(const Config& c, const ConvProblem& p, int wanted) {
  return shape_of(gathering(c, p), c, p, wanted);
}
inline std::int64_t copies(const Config& c, const ConvProblem& p) { return gathering(c, p).bytes(); }
inline constexpr Slicing slicing{shape, copies, nullptr};

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.dtype != f32) return only_f32;
  if (std::string why = refuse_all_but_hopper(device); !why.empty()) return why;
  if (p.backward) return no_gradients;
  if (std::string why = refuse_uncounted(c, p); !why.empty()) return why;
  if (std::string why = refuse_smem(fma_smem_bytes(c), device); !why.empty()) return why;
  if (std::string why = refuse_steps(p, true); !why.empty()) return why;
  return refuse_large_copies(p, true);
}

// Persistent blocks: they take tiles until none is left.
inline Footprint footprint_of(const Config& c, const ConvProblem& p, const DeviceInfo& device, const Gathering& g,
                              const gemm_kernels::Shape& shape) {
  const std::int64_t tiles = tiles_of(c, p.w.shape[0], pixels_of(p)) * shape.slices;
  return {.grid = std::min(tiles, std::max<std::int64_t>(1, device.sms) * c.blocks_per_sm),
          .threads = c.threads,
          .registers = 168,
          .smem = fma_smem_bytes(c),
          .workspace = sliced_workspace(g.bytes(), shape)};
}
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const Gathering g = gathering(c, s.problem);
  return footprint_of(c, s.problem, device, g, shape_of(g, c, s.problem, s.split));
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double efficiency = 0.68;   // of the multiply-add rate, given the waits for shared memory
  constexpr double waits_alone = 1.15;  // factor where a scheduler has one warp
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const Gathering g = gathering(c, p);
  const gemm_kernels::Shape shape = shape_of(g, c, p, s.split);
  const std::int64_t tiles = tiles_of(c, p.w.shape[0], pixels_of(p)) * shape.slices,
                     resident = std::max<std::int64_t>(1, device.sms) * c.blocks_per_sm;
  const std::int64_t most = ceil_div(tiles, resident);
  // Channels go in fours, in the last step only those that exist; a warp alone on its scheduler waits for its reads.
  const double channels = real(ceil_div(g.channels, 4) * 4) * real(g.taps()) * real(shape.slice_k) / real(shape.k);
  const double left_out = g.copies_image && g.image.channels == 4 && p.x.shape[1] == 3 ? 0.75 : 1;
  const double alone = ceil_div(tiles, std::max(1, device.sms)) * fma_warps(c) <= 4 ? waits_alone : 1;
  const double tile =
      real(c.tile_pixels * c.tile_filters) * channels * left_out * alone / 128 / efficiency + tile_clocks;
  roofline::Kernel k = kernel_of(footprint_of(c, p, device, g, shape), p, g, shape, device);
  k.clocks = real(most) * tile * real(k.blocks);
  k.tile_efficiency = real(p.w.shape[0]) * real(pixels_of(p)) /
                      (padded(p.w.shape[0], c.tile_filters) * padded(pixels_of(p), c.tile_pixels));
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace fma
}  // namespace ridge::conv_detail
