// A transposed convolution whose windows of y lie side by side, on Hopper's tensor cores: one matrix product of
// pixels with all taps, whose sums are stored where their taps lie (a pixel shuffle). The gradient of an image that
// was cut into patches is the same.
#pragma once
#include <ridge/conv/sm90_wgmma.hpp>

namespace ridge::conv_detail {

namespace shuffle {

// Pixels are the product's rows; its columns are taps times channels, channels innermost. Tiles are those of wgmma.
constexpr gemm_kernels::Shape shape_of(const ConvProblem& p) {
  return {pixels_of(p), taps_of(p) * p.w.shape[1], p.w.shape[0], 1};
}

inline std::string refuse_windows(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (g.groups != 1) return one_group;
  if (taps_of(p) == 1) return "windows of one tap are a product";  // which has tiles of its width
  const auto apart = [](const Axis& a, std::int64_t after) {
    return a.stride == a.taps && (a.taps == 1 || a.dilation == 1) && a.pad == 0 && after == 0 &&
           a.inputs == a.outputs * a.stride;
  };
  return apart(axis_h(p), g.pad.bottom) && apart(axis_w(p), g.pad.right) ? "" : "windows do not lie side by side";
}

inline std::string refuse_layouts(const ConvProblem& p) {
  const Layout& w = p.w;
  const std::int64_t channels = w.shape[1];
  if (!is_matrix(p, p.y)) return "its input's channels are not innermost, or pixels do not start on 16 bytes";
  if (channels % vector_elements(p.dtype) != 0 || w.stride[1] != 1 || (w.shape[3] > 1 && w.stride[3] != channels) ||
      (w.shape[2] > 1 && w.stride[2] != w.shape[3] * channels) || !is_regular(w.shape[0], w.stride[0], p.dtype))
    return "filters are not [c, r, s, k] whose pieces of 16 bytes are aligned";
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.dtype == f32) return only_16_bits;
  if (std::string why = refuse_all_but_hopper(device); !why.empty()) return why;
  if (!has_dx(p) || has_dw(p)) return "it is for transposed convolutions, and the gradient of x alone";
  if (std::string why = refuse_windows(p); !why.empty()) return why;
  if (pixels_of(p) == 0 || p.w.count() == 0) return no_products;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (real(pixels_of(p)) * real(taps_of(p)) >= int_range / 2 || p.w.span() >= max_grid)
    return "it counts pixels, filters and terms to 2^30";
  return refuse_smem(gemm_kernels::wgmma_smem_bytes(wgmma_tile(c)), device);
}

inline std::int64_t tiles_of(const Config& c, const ConvProblem& p) {
  const gemm_kernels::Shape product = shape_of(p);
  return gemm_kernels::wgmma_raster(wgmma_tile(c), product.m, product.n).tiles();
}

// Persistent blocks: they take tiles until none is left.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  return wgmma::footprint_of(c, std::min<std::int64_t>(tiles_of(c, s.problem), std::max(1, device.sms)), 0);
}

// Not fitted: memory's share and the start are what other kernels with whole lines reach. A block multiplies and stores
// its tiles one after the other, while loads run ahead; in its only tile they run ahead of nothing.
inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double store_share = 0.85, first_tile_us = 3;
  constexpr double ahead = 6;  // how well memory and the rest overlap
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const gemm_kernels::Config tile = wgmma_tile(c);
  const gemm_kernels::Shape product = shape_of(p);
  const double rate = device.fp16_tflops * 1e3 / (2 * device.sms * device.clock_ghz);
  const std::int64_t most = ceil_div(tiles_of(c, p), std::max(1, device.sms));
  const double steps = real(ceil_div(product.k, tile.bk)), multiplied = real(tile.bm * tile.bn) * tile.bk / rate;
  const double loaded = real((tile.bm + tile.bn) * tile.line) / (most == 1 ? l2_bytes_of_one_wave : l2_bytes_per_clock);
  const double of_tile = most == 1 ? steps * std::max(multiplied, loaded) + tile_clocks
                                   : std::max(steps * loaded, steps * multiplied + tile_clocks);
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.block_us = first_tile_us;
  k.memory_share = store_share;
  k.trips = real(most);  // only the first tile's loads and the last one's stores overlap with nothing
  k.overlap = ahead;
  k.clocks = real(most) * of_tile * real(k.blocks);
  k.tile_efficiency = real(product.m) * real(product.n) / (padded(product.m, tile.bm) * padded(product.n, tile.bn));
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace shuffle
}  // namespace ridge::conv_detail
