// Refusals and models that the families with pixels gathered by TMA (sm90_image.hpp) share.
#pragma once
#include <ridge/conv/slices.hpp>
#include <ridge/conv/sm90_image.hpp>

namespace ridge::conv_detail {

// ---- refusals; empty: none

inline std::string refuse_uncounted(const Config& c, const ConvProblem& p) {
  if (p.geometry.groups != 1) return one_group;
  if (p.y.count() == 0 || terms_of(p) == 0) return no_products;
  // Tiles of a cluster may begin past the last pixel.
  const std::int64_t most = max_grid - c.tile_pixels * c.cluster;
  if (pixels_of(p) > most || p.w.shape[0] > most || taps_of(p) > most || p.x.shape[1] > most / taps_of(p))
    return "it counts pixels, filters and terms to 2^31";
  if (ceil_div(pixels_of(p), c.tile_pixels) + c.cluster > max_grid / ceil_div(p.w.shape[0], c.tile_filters))
    return "more than 2^31 tiles";
  return {};
}

inline std::string refuse_volumes(const ConvProblem& p, bool across) {
  Gathering g;
  if (!gather_in_place(g, p, across)) return "it takes volumes with channels innermost, whose pixels start on 16 bytes";
  if (std::max({g.h.step, g.w.step, g.d.step}) > tile::sm90::most_image_step) return "it is for strides of at most 8";
  if (!is_walkable(g))
    return "it takes volumes with padding in front of 16 at most, and behind of what a filter reaches, give or take 15";
  // By their slices, filters are copied as further rows.
  return !p.backward && !are_rows(p.w) && (across || g.copies_filters) ? "slices of the filters are no further rows"
                                                                       : "";
}

inline std::string refuse_steps(const ConvProblem& p, bool across) {
  const auto extent = [](const Axis& a) { return (a.taps - 1) * a.dilation; };
  const Axis h = axis_h(p), w = axis_w(p);
  if (is_volume(p)) return refuse_volumes(p, across);
  if (std::max(h.stride, w.stride) > tile::sm90::most_image_step) return "it is for strides of at most 8";
  if (std::max(extent(h), extent(w)) > tile::sm90::most_image_corner)
    return "it is for filters of an extent of at most 128";
  return {};
}

// Checks the size that copies would have, where x is not read in place. Channels and filters are rounded up by 7 at
// most.
inline std::string refuse_large_copies(const ConvProblem& p, bool across) {
  Gathering in_place;
  const bool copies = !gather_in_place(in_place, p, across) || !is_walkable(in_place);
  const auto reached = [](const Axis& a) { return real((a.outputs - 1) * a.stride + (a.taps - 1) * a.dilation + 1); };
  const double channels = real(p.x.shape[1] + 7);
  if ((copies && real(p.x.shape[0]) * reached(axis_h(p)) * reached(axis_w(p)) * channels >= int_range) ||
      real(p.w.shape[0] + 7) * real(taps_of(p)) * channels >= int_range)
    return "images or filters of 2^31 elements or more";
  return {};
}

// ---- models

// A tile's waits beside its products. Not fitted to this operator: it is gemm's value.
inline constexpr double tile_clocks = 1500;
// Bytes per clock that TMA brings to a multiprocessor from the L2 cache while all of them load, and where none has a
// second tile. DeviceInfo::l2_gbs, the rate of threads' reads, is half of it.
inline constexpr double l2_bytes_per_clock = 50, l2_bytes_of_one_wave = 64;

// Copies are a kernel of their own, before the product. They are short, and reach half of the memory bandwidth.
inline double copy_us(const Gathering& g, const DeviceInfo& device) {
  constexpr double copy_start_us = 1, copy_share = 0.5;
  if (g.bytes() == 0) return 0;
  return copy_start_us + 2 * real(g.bytes()) / (copy_share * std::max(1.0, device.memory_gbs) * 1e3);
}

// The beginning of a forward product's model: the launch, its copies and its slices.
inline roofline::Kernel kernel_of(const Footprint& launch, const ConvProblem& p, const Gathering& g,
                                  const gemm_kernels::Shape& shape, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of(launch, p);
  k.block_us = start_us;
  k.launches = g.bytes() > 0 ? 2 : 1;
  k.serial_us = copy_us(g, device);
  add_slices_to(k, shape, device);
  // predict() has a block wait for its share of all bytes; here they arrive while it multiplies.
  if (k.blocks > 0)
    k.block_us -= std::min(k.block_us, (k.bytes_read + k.bytes_written) / real(k.blocks) /
                                           (l2_bytes_of_one_wave * std::max(0.1, device.clock_ghz)) * 1e-3);
  return k;
}

}  // namespace ridge::conv_detail
