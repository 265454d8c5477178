// Hopper's tensor cores, for 16-bit types and for float32 as TF32: gemm's kernel with an image loader. Gradients are in
// sm90_gradient.hpp.
#pragma once
#include <ridge/conv/sm90_gradient.hpp>
#include <ridge/gemm/sm90_wgmma.hpp>

namespace ridge::conv_detail {

// Pixels are the product's rows, filters its columns.
constexpr gemm_kernels::Config wgmma_tile(const Config& c) {
  gemm_kernels::Config tile;
  tile.family = gemm_kernels::Family::wgmma;
  tile.bm = c.tile_pixels;
  tile.bn = c.tile_filters;
  tile.bk = c.step;
  tile.line = c.step * (c.tf32 ? 4 : 2);  // bytes
  tile.stages = c.stages;
  tile.schedule = c.schedule;
  tile.persistent = true;
  tile.cluster = c.cluster;
  return tile;
}

namespace wgmma {

constexpr bool is_compiled(const Config& c, DType dtype) { return (dtype == f32) == c.tf32; }
// Rows that compute gradients too: by whole groups of channels.
constexpr bool has_gradient(const Config& c) {
  return c.step == gradient_group && c.tile_filters % gradient_group == 0;
}
// Those that take volumes, whose dx is another row's (flipped.hpp).
constexpr bool takes_volumes(const Config& c) { return c.tf32 || has_gradient(c); }

// ---- split-K slices

inline Gathering gathering(const Config& c, const ConvProblem& p) { return gathering_of(p, c.step, false); }

inline gemm_kernels::Shape shape_of(const Gathering& g, const Config& c, const ConvProblem& p, int wanted) {
  return shape_in_slices(p, true, g.steps(c.step), wanted);
}
inline gemm_kernels::Shape shape(const Config& c, const ConvProblem& p, int wanted) {
  return shape_of(gathering(c, p), c, p, wanted);
}
inline std::int64_t copies(const Config& c, const ConvProblem& p) { return gathering(c, p).bytes(); }
inline int parts(const Config&, const ConvProblem& p, const DeviceInfo& device) {
  return filter_gradient_split(p, device.sms);
}
inline constexpr Slicing slicing{shape, copies, parts};

// ---- fits

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (c.tf32 && p.math != ConvMath::tf32) return "computes as math=tf32, which was not asked for";
  if (!is_compiled(c, p.dtype)) return p.dtype == f32 ? only_16_bits : only_f32;
  if (std::string why = refuse_all_but_hopper(device); !why.empty()) return why;
  if (p.backward && !has_gradient(c)) return no_gradients;
  if (std::string why = refuse_uncounted(c, p); !why.empty()) return why;
  if (std::string why = refuse_smem(gemm_kernels::wgmma_smem_bytes(wgmma_tile(c)), device); !why.empty()) return why;
  if (!are_patches(p))
    if (std::string why = refuse_steps(p, false); !why.empty()) return why;
  if (std::string why = refuse_large_copies(p, false); !why.empty()) return why;
  return p.backward ? refuse_gradients(p, device) : std::string{};
}

// ---- footprint and model

// Tiles of all slices, with those that fill up clusters.
inline std::int64_t tiles_in_clusters(const Config& c, const ConvProblem& p, const gemm_kernels::Shape& shape) {
  const gemm_kernels::Config tile = wgmma_tile(c);
  return gemm_kernels::wgmma_raster(tile, pixels_of(p), p.w.shape[0]).tiles() * tile.cluster * shape.slices;
}

// Persistent blocks: they take tiles until none is left.
inline Footprint footprint_of(const Config& c, std::int64_t grid, std::size_t workspace) {
  return {.grid = grid,
          .threads = c.threads,
          .registers = 168,
          .smem = gemm_kernels::wgmma_smem_bytes(wgmma_tile(c)),
          .workspace = workspace};
}
inline Footprint forward_footprint(const Config& c, const ConvProblem& p, const DeviceInfo& device, const Gathering& g,
                                   const gemm_kernels::Shape& shape) {
  return footprint_of(c, std::min<std::int64_t>(tiles_in_clusters(c, p, shape), device.sms),
                      sliced_workspace(g.bytes(), shape));
}
inline Footprint gradient_footprint(const Config& c, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  return footprint_of(
      c, std::max(1, device.sms),
      static_cast<std::size_t>(transposed_filter_bytes(p) + (has_dw(p) ? s.split * p.w.count() * 4 : 0)));
}
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  if (s.problem.backward) return gradient_footprint(c, s, device);
  const Gathering g = gathering(c, s.problem);
  return forward_footprint(c, s.problem, device, g, shape_of(g, c, s.problem, s.split));
}

inline roofline::Kernel forward_model(const Config& c, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double least_step = 275;       // clocks from step to step, however small a tile is
  constexpr double ping_pong_alone = 1.1;  // factor where the other warpgroup has no tile
  // Bytes per clock in one wave: of a multiprocessor while most others load nothing, and of all together. H200, with
  // cold caches, 320 filters at 64 x 64 pixels: tiles of 96 filters on 128 multiprocessors take longer than 128 on 96.
  constexpr double l2_bytes_of_few_blocks = 90, l2_bytes_of_all = 5000;
  const ConvProblem& p = s.problem;
  const gemm_kernels::Config tile = wgmma_tile(c);
  const Gathering g = gathering(c, p);
  // Multiply-adds per clock of a multiprocessor's tensor cores.
  const double rate = (c.tf32 ? device.tf32_tflops : device.fp16_tflops) * 1e3 / (2 * device.sms * device.clock_ghz);
  const gemm_kernels::Shape shape = shape_of(g, c, p, s.split);
  const std::int64_t tiles = tiles_in_clusters(c, p, shape);
  const bool ping_pong = tile.schedule == gemm_kernels::Schedule::ping_pong;
  // The block with most tiles has so many. Alone, one of two warpgroups has half the rate.
  const std::int64_t most = ceil_div(tiles, std::max(1, device.sms));
  const double loaded = real((tile.bm + tile.bn / tile.cluster) * tile.line);  // of a step
  const double of_one_wave = std::min(l2_bytes_of_few_blocks, l2_bytes_of_all / std::max(1.0, real(tiles)));
  const double step = std::max(
      {real(tile.bm * tile.bn) * tile.bk / rate, least_step, loaded / (most == 1 ? of_one_wave : l2_bytes_per_clock)});
  const double alone = ping_pong && most == 1 ? ping_pong_alone : 1;
  // A tile's end: stores, the activation, and a residual that is waited for. The other warpgroup's products hide half.
  const double of_filter =
      7 + (p.residual ? 6 : 0) +
      (p.epilogue.activation == Activation::none || p.epilogue.activation == Activation::relu ? 0 : 20);
  // Where y's pixels are no rows of whole vectors, each output is stored by itself. H200.
  constexpr double single_store = 2.2;
  const double stores = is_matrix(p, p.y) ? 0 : single_store * real(tile.bm * tile.bn);
  const double end = 600 + of_filter * tile.bn + stores, finish = ping_pong && most > 1 ? end / 2 : end;
  roofline::Kernel k = kernel_of(forward_footprint(c, p, device, g, shape), p, g, shape, device);
  k.clocks = real(most) * (real(shape.slice_k) * step * alone + finish) * real(k.blocks);
  k.tile_efficiency = real(p.w.shape[0]) * real(pixels_of(p)) /
                      (padded(p.w.shape[0], tile.bn) * padded(pixels_of(p), tile.bm * tile.cluster));
  return k;
}

inline roofline::Kernel gradient_model(const Config& c, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(gradient_footprint(c, s, device), p);
  k.clocks = gradient_clocks(wgmma_tile(c), s, device);
  k.block_us = start_us;
  const int phases = static_cast<int>(p.geometry.stride.h * p.geometry.stride.w);
  k.launches = (has_dx(p) ? launches_of_dx(p, phases) + 1 : 0) + 2 * has_dw(p);
  const double sums = has_dw(p) ? 4.0 * real(s.split) * real(p.w.count()) : 0;
  k.bytes_read += sums;
  k.bytes_written += sums;
  return k;
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  return s.problem.backward ? gradient_model(row.config, s, device) : forward_model(row.config, s, device);
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace wgmma
}  // namespace ridge::conv_detail
