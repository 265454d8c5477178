// Winograd's convolution with filters of 3 x 3, in float32: F(2x2, 3x3), 16 products of sums for 36 multiply-adds.
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/gemm/thread_tile.hpp>

namespace ridge::conv_detail {

inline constexpr int winograd_outputs = 2;    // a tile's rows and columns, of outputs
inline constexpr int winograd_products = 16;  // of a tile, a channel and a filter
// Limit for the transformed inputs and products together: more images are processed in parts, one after the other, of
// at least one image each.
inline constexpr std::int64_t winograd_most_bytes = std::int64_t{1} << 29;

// Filters are the products' rows, tiles of outputs their columns.
constexpr gemm_kernels::Config winograd_tile(const Config& c) {
  gemm_kernels::Config tile;
  tile.bm = c.tile_filters;
  tile.bn = c.tile_pixels;
  tile.bk = c.step;
  tile.pipeline = gemm_kernels::Pipeline::multistage;
  tile.stages = c.stages;
  tile.conflict_free = true;
  tile.blocks_per_sm = c.blocks_per_sm;
  return tile;
}

// The parts of the images, and the offsets of u, v and m in the workspace, in floats.
struct WinogradParts {
  std::int64_t tiles_h = 0, tiles_w = 0;  // of an image
  std::int64_t images = 0, parts = 0;     // images of a part; number of parts
  std::int64_t pitch = 0, filter_pitch = 0;
  std::int64_t v_at = 0, m_at = 0, floats = 0;
  constexpr std::int64_t tiles(std::int64_t n) const { return n * tiles_h * tiles_w; }
};
// Precondition: an image's transformed inputs and products are fewer than 2^60.
constexpr WinogradParts winograd_parts(const ConvProblem& p) {
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0], vector = gemm_kernels::fragment(f32);
  WinogradParts parts{.tiles_h = ceil_div(p.y.shape[2], winograd_outputs),
                      .tiles_w = ceil_div(p.y.shape[3], winograd_outputs)};
  const std::int64_t of_image = parts.tiles(1) * (channels + filters) * winograd_products * 4;
  const std::int64_t at_a_time = std::clamp<std::int64_t>(winograd_most_bytes / of_image, 1, p.y.shape[0]);
  parts.parts = ceil_div(p.y.shape[0], at_a_time);
  parts.images = ceil_div(p.y.shape[0], parts.parts);
  parts.pitch = ceil_div(parts.tiles(parts.images), vector) * vector;
  parts.filter_pitch = ceil_div(filters, vector) * vector;
  parts.v_at = winograd_products * channels * parts.filter_pitch;
  parts.m_at = parts.v_at + winograd_products * channels * parts.pitch;
  parts.floats = parts.m_at + winograd_products * filters * parts.pitch;
  return parts;
}

namespace winograd {

inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo&) {
  const ConvProblem& p = s.problem;
  const ConvGeometry& g = p.geometry;
  if (p.dtype != f32) return only_f32;
  if (p.backward) return no_gradients;
  if (p.w.shape[2] != 3 || p.w.shape[3] != 3) return "filters are not 3x3";
  if (g.stride != ConvPair{} || g.dilation != ConvPair{}) return "stride or dilation is not 1";
  if (g.groups != 1) return one_group;
  if (p.y.count() == 0 || terms_of(p) == 0) return no_products;
  if (std::string why = refuse_large_planes(p); !why.empty()) return why;
  // In double: sizes may be any. Threads index their work in 32 bits.
  const double channels = real(p.w.shape[1]), filters = real(p.w.shape[0]);
  const double tiles =
      real(p.y.shape[0]) * real(ceil_div(p.y.shape[2], winograd_outputs) * ceil_div(p.y.shape[3], winograd_outputs));
  if (std::max({channels * 9, channels * tiles, filters * tiles, channels * filters}) >= int_range - 1024)
    return "more than 2^31 pieces of work";
  return {};
}

// The launch of a part's products; the transforms before and after have blocks of Config::threads.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const gemm_kernels::Config tile = winograd_tile(c);
  const WinogradParts parts = winograd_parts(p);
  return {.grid = winograd_products * tiles_of(c, p.w.shape[0], parts.tiles(parts.images)),
          .threads = gemm_kernels::thread_tile_threads(tile),
          .registers = 128,
          .smem = gemm_kernels::thread_tile_smem_bytes(tile, f32),
          .workspace = static_cast<std::size_t>(parts.floats) * sizeof(float)};
}

// The transforms run before and after the products and are memory-bound; where the L2 cache keeps the data they take a
// third of the time. The transformed filters are written and read once.
inline double transforms_us(const ConvProblem& p, const WinogradParts& parts, const DeviceInfo& device) {
  const double channels = real(p.w.shape[1]), filters = real(p.w.shape[0]);
  const double transformed = 4.0 * winograd_products * real(parts.tiles(parts.images)) * (channels + filters);
  const double gbs = std::max(1.0, device.memory_gbs), share = 2 * transformed < real(device.l2_bytes) ? 0.3 : 1;
  // Transposing tiles in NHWC costs each transform a few barriers, and a part of the memory bandwidth; measured.
  const bool transposes = channels_last(p);
  const double transpose_us = transposes ? 6 : 0, slower = transposes ? 1.3 : 1;
  return real(parts.parts) * (slower * share * transformed / (gbs * 1e3) + 2 * start_us + transpose_us) +
         2 * 4.0 * winograd_products * channels * filters / (gbs * 1e3);
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double efficiency = 0.7;  // of the multiply-add rate, in the products
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const WinogradParts parts = winograd_parts(p);
  const double channels = real(p.w.shape[1]), filters = real(p.w.shape[0]);
  const std::int64_t tiles = parts.tiles(parts.images);
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  const std::int64_t sms = std::max(1, device.sms), resident = sms * c.blocks_per_sm;
  const std::int64_t most =
      k.blocks < resident ? ceil_div(k.blocks, sms) : ceil_div(k.blocks, resident) * c.blocks_per_sm;
  const double steps = padded(p.w.shape[1], c.step) + 2 * c.step;  // 2: pipeline fill, and storing the sums
  k.cost.on(Unit::fp32) = 2.0 * winograd_products * real(parts.tiles(p.y.shape[0])) * channels * filters;
  k.clocks = real(parts.parts * most * sms) * c.tile_filters * c.tile_pixels * steps / 128 / efficiency;
  k.block_us = start_us;
  k.launches = static_cast<int>(1 + 3 * parts.parts);
  k.serial_us = transforms_us(p, parts, device);
  k.tile_efficiency = filters * real(tiles) / (padded(p.w.shape[0], c.tile_filters) * padded(tiles, c.tile_pixels));
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace winograd
}  // namespace ridge::conv_detail
