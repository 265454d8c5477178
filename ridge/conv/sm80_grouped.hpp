// Few channels on tensor cores, by mma.sync, channels innermost: groups of 2 to 64 channels and as many filters; and
// images of up to 64 channels in one group. A block has a tile of pixels with the inputs around it, and filters, in
// shared memory; a warp multiplies 16 pixels by 16 channels of one tap at a time. Groups of fewer than 16 channels are
// multiplied together, as blocks along the diagonal of a matrix that is zero elsewhere.
#pragma once
#include <ridge/conv/grouped.hpp>

namespace ridge::conv_detail {

// Bytes of a line in shared memory of so many elements, a multiple of 16: an odd number of pieces of 16 bytes, so that
// ldmatrix reads eight neighbouring lines from all banks.
constexpr int padded_line_bytes(int elements) { return elements * 2 + 16; }
// Channels of a line of 128 bytes, and the bundles of so many channels that share it.
inline constexpr int line_channels = 64;
constexpr int bundles_of_line(int width) { return std::max(1, line_channels / width); }

// What a block of a row has. Groups are taken in bundles: several groups, or one, in `width` channels, a multiple of
// mma's 16, and as many filters; several bundles, so that a pixel's inputs are a line of 128 bytes. One group of all
// channels is a bundle by itself, of whatever width it has, and a block has some of its filters.
struct BundleShape {
  bool one_group = false;
  int width = 16, filters = 16;  // width: of one group, the most
  static constexpr int tile_pixels = 128, warps = 8;
  constexpr int bundles() const { return one_group ? 1 : bundles_of_line(width); }
  constexpr int rows() const { return bundles() * filters; }  // of filters in shared memory, for each tap
  // A warp reads as many fragments of pixels as of filters where groups have 64.
  constexpr int warp_filters() const { return !one_group && filters == 64 ? 32 : filters; }
  constexpr int warps_across() const { return bundles() * (filters / warp_filters()); }
  constexpr int warp_pixels() const { return tile_pixels / (warps / warps_across()); }
  // Of a pixel's inputs, and of a filter's channels of a tap, of so many channels in a bundle.
  constexpr int pixel_bytes(int channels) const { return padded_line_bytes(bundles() * channels); }
  static constexpr int filter_bytes(int channels) { return padded_line_bytes(channels); }
};
constexpr BundleShape bundle_shape(const Config& c) {
  return {c.algorithm == Algorithm::few_channels, c.step, c.tile_filters};
}

// The channels of a bundle: of whole groups, or of one group.
constexpr std::int64_t bundle_channels(const ConvProblem& p) {
  return p.geometry.groups == 1 ? channels_of_group(p) : std::max<std::int64_t>(channels_of_group(p), 16);
}
// The channels that it takes in shared memory: zeros fill it up.
constexpr int bundle_width(const ConvProblem& p) { return static_cast<int>(ceil_div(bundle_channels(p), 16) * 16); }

// The tiles of a problem. Images are one below the other, and rows of tiles go on from one image to the next: so tiles
// of small images are full. Between images there are rows of zeros, as many as the padding needs.
struct GroupedTiles {
  int columns = 8;                           // of a tile, a power of two; 8 at least, as ldmatrix reads 8 neighbours
  std::int64_t period = 1;                   // rows of y from image to image
  std::int64_t down = 0, across = 0;         // tiles
  std::int64_t in_rows = 0, in_columns = 0;  // inputs of a tile
  constexpr std::int64_t count() const { return down * across; }
};
constexpr GroupedTiles grouped_tiles(const ConvProblem& p, int columns) {
  const Axis h = axis_h(p), w = axis_w(p);
  const std::int64_t rows = BundleShape::tile_pixels / columns, extent = (h.taps - 1) * h.dilation;
  GroupedTiles t{.columns = columns};
  // An image's inputs end before the next one's begin; and taps beyond its last row meet the next one's padding.
  const std::int64_t least = std::max(h.inputs + h.pad, (h.outputs - 1) * h.stride + extent + 1 - h.pad);
  t.period = std::max(h.outputs, ceil_div(least, h.stride));
  t.down = ceil_div((p.y.shape[0] - 1) * t.period + h.outputs, rows);
  t.across = ceil_div(w.outputs, columns);
  t.in_rows = (rows - 1) * h.stride + extent + 1;
  t.in_columns = (columns - 1) * w.stride + (w.taps - 1) * w.dilation + 1;
  return t;
}
// The tiles that take the least: of pixels to multiply and of inputs to load.
constexpr GroupedTiles best_grouped_tiles(const ConvProblem& p) {
  GroupedTiles best = grouped_tiles(p, 8);
  const auto work = [](const GroupedTiles& t) {
    return real(t.count()) * (BundleShape::tile_pixels + real(t.in_rows) * real(t.in_columns));
  };
  for (const int columns : {16, 32, 64})
    if (const GroupedTiles t = grouped_tiles(p, columns); work(t) < work(best)) best = t;
  return best;
}

constexpr std::int64_t bundle_smem_bytes(const Config& c, const ConvProblem& p, const GroupedTiles& t) {
  const BundleShape b = bundle_shape(c);
  return t.in_rows * t.in_columns * b.pixel_bytes(bundle_width(p)) +
         taps_of(p) * b.rows() * BundleShape::filter_bytes(bundle_width(p));
}
// Blocks side by side, which cover all filters.
constexpr std::int64_t bundle_columns(const Config& c, const ConvProblem& p) {
  const BundleShape b = bundle_shape(c);
  return ceil_div(p.y.shape[1], b.one_group ? b.filters : bundle_channels(p) * b.bundles());
}

namespace grouped_mma {

inline std::string refuse_groups(const Config& c, const ConvProblem& p) {
  const std::int64_t group = channels_of_group(p);
  if (bundle_shape(c).one_group) {
    if (p.geometry.groups != 1) return one_group;
    return group > c.step ? "it is for at most " + std::to_string(c.step) + " channels" : std::string{};
  }
  if (p.geometry.groups == 1 || filters_of_group(p) != group) return "it is for groups of as many channels as filters";
  const bool in_bundles = group == 2 || group == 4 || group == 8;
  if (!in_bundles && (group % 8 != 0 || group > 64))
    return "groups are not of 2, 4 or 8 channels, or 16 to 64 by eights";
  if (bundle_width(p) != c.step)
    return "groups, or several together, are not of " + std::to_string(c.step) + " channels";
  return {};
}

// For tiles, which are counted in 32 bits.
inline std::string refuse_places(const ConvProblem& p) {
  constexpr double most = int_range / 4, most_step = 1 << 12, beyond = 3e4;  // beyond: what these add to a side at most
  const Axis h = axis_h(p), w = axis_w(p);
  const ConvPad& pad = p.geometry.pad;
  if (std::max({real(pad.top), real(pad.left), real(pad.bottom), real(pad.right), real(h.stride), real(w.stride),
                real((h.taps - 1) * h.dilation), real((w.taps - 1) * w.dilation)}) > most_step)
    return "strides, padding or an extent above 4096";
  if (real(p.x.shape[0]) * (real(h.inputs) + beyond) >= most || real(w.inputs) + beyond >= most)
    return "images of 2^29 rows or columns in all";
  const GroupedTiles t = best_grouped_tiles(p);
  return real(t.down) * real(t.across) >= most ? "more than 2^29 tiles" : "";
}

// Filters are copied by pieces of a group's channels, 16 bytes at most.
inline std::string refuse_filters(const ConvProblem& p) {
  const std::int64_t piece = std::min<std::int64_t>(channels_of_group(p), 8);
  const auto starts = [&](int axis) { return p.w.shape[axis] <= 1 || p.w.stride[axis] % piece == 0; };
  return p.w.stride[1] == 1 && starts(0) && starts(2) && starts(3) ? "" : "channels of filters are not innermost";
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.dtype == f32) return only_16_bits;
  if (p.backward) return no_gradients;
  if (device.is_cpu() || device.cc < 80) return "the device has no tensor cores of compute capability 8.0";
  if (p.y.count() == 0 || terms_of(p) == 0) return no_products;
  if (std::string why = refuse_groups(c, p); !why.empty()) return why;
  if (std::string why = grouped::refuse_layouts(p); !why.empty()) return why;
  if (p.y.shape[1] % grouped_vector(size_of(p.dtype)) != 0) return "filters are not whole pieces of 16 bytes";
  if (std::string why = refuse_filters(p); !why.empty()) return why;
  if (std::string why = refuse_places(p); !why.empty()) return why;
  if (bundle_columns(c, p) > max_grid_y) return "more than 65535 blocks side by side";
  const GroupedTiles t = best_grouped_tiles(p);
  return roofline::refuse_smem(bundle_smem_bytes(c, p, t), device);
}

// Blocks of a multiprocessor: as many as its shared memory holds.
inline std::int64_t resident(const Config& c, std::int64_t smem, const DeviceInfo& device) {
  const std::int64_t held = device.smem_per_sm / std::max<std::int64_t>(smem + device.smem_reserved, 1);
  return std::clamp<std::int64_t>(held, 1, c.blocks_per_sm);
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const GroupedTiles t = best_grouped_tiles(p);
  const std::int64_t smem = bundle_smem_bytes(c, p, t), columns = bundle_columns(c, p);
  const std::int64_t at_a_time = ceil_div(std::max(device.sms, 1) * resident(c, smem, device), columns);
  return {.grid = std::min(t.count(), at_a_time) * columns,
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = static_cast<int>(smem)};
}

// Counted, not yet fitted. Per tile and warp: fragments of pixels and of filters from shared memory, which moves 128
// bytes a clock; products, at the rate that mma.sync reaches on Hopper; and what is issued for copies and stores.
inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double mma_share = 0.45;                                 // of the tensor cores' rate: gemm's figure
  constexpr double fragment_clocks = 4;                              // of 512 bytes
  constexpr double copy_instructions = 24, store_instructions = 24;  // of 16 bytes of inputs; of 8 bytes of outputs
  constexpr double waits = 1.25;                                     // of the clocks: for copies, and at barriers
  constexpr double copied_share = 0.8;  // of memory's rate: a block waits for its copies, others multiply meanwhile
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const BundleShape b = bundle_shape(c);
  const GroupedTiles t = best_grouped_tiles(p);
  const double rate = device.fp16_tflops * 1e3 / (2 * std::max(1, device.sms) * std::max(0.1, device.clock_ghz));
  const double rows = b.warp_pixels() / 16.0, across = b.warp_filters() / 16.0;
  const double steps = real(taps_of(p)) * bundle_width(p) / 16;
  const double products = steps * b.warps * rows * across * (16 * 16 * 16) / (rate * mma_share);
  const double fragments = steps * b.warps * (rows + across) * fragment_clocks;
  const double copied =
      real(t.in_rows) * real(t.in_columns) * b.bundles() * bundle_width(p) / 8 * copy_instructions / 32 / 4;
  const double stored = real(b.tile_pixels * b.rows()) / 4 * store_instructions / 32 / 4;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.clocks = waits * real(t.count()) * real(bundle_columns(c, p)) * (std::max(products, fragments) + copied + stored);
  k.block_us = start_us;
  k.memory_share = copied_share;
  k.l2_bytes = real(t.count() * bundle_columns(c, p)) * real(t.in_rows) * real(t.in_columns) * b.bundles() *
               real(bundle_channels(p)) * 2;
  k.tile_efficiency = real(pixels_of(p)) / (real(t.count()) * b.tile_pixels);
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace grouped_mma
}  // namespace ridge::conv_detail
