// The gradient of the filters of few channels on tensor cores, by mma.sync, channels innermost: the groups and images
// that sm80_grouped.hpp has. A block has tiles of dy's pixels and of the inputs around them in shared memory, one after
// the other; its sums of all taps stay in registers. Blocks have parts of the tiles, whose sums are added in order.
#pragma once
#include <ridge/conv/sm80_grouped.hpp>

namespace ridge::conv_detail::few_gradient {

// A warp's sums, by 16 filters and 16 channels of one tap: 8 of each thread.
inline constexpr int warp_units = 9, warps = BundleShape::warps;
inline constexpr std::int64_t most_filters = 64;  // of one group, in a block

// What a block has: bundles of groups, or one group's channels and some of its filters.
struct Sums {
  int bundles = 1, width = 16, filters = 16;        // width, filters: of a bundle, multiples of 16
  std::int64_t bundle = 16, bundle_filters = 16;    // those that exist
  std::int64_t units = 0, chunks = 1, columns = 1;  // chunks: blocks that share the units; columns: that have others
  constexpr int pixel_bytes() const { return padded_line_bytes(bundles * width); }
  constexpr int dy_bytes() const { return padded_line_bytes(bundles * filters); }
};
constexpr Sums sums_of(const ConvProblem& p) {
  const bool one_group = p.geometry.groups == 1;
  Sums s{.width = bundle_width(p), .bundle = bundle_channels(p)};
  if (one_group) {
    const std::int64_t blocks = ceil_div(p.w.shape[0], most_filters);
    s.bundle_filters = ceil_div(ceil_div(p.w.shape[0], blocks), 8) * 8;
    s.filters = static_cast<int>(ceil_div(s.bundle_filters, 16) * 16);
    s.columns = ceil_div(p.w.shape[0], s.bundle_filters);
  } else {
    s.bundles = bundles_of_line(s.width);
    s.filters = s.width;
    s.bundle_filters = s.bundle;
    s.columns = ceil_div(p.w.shape[0], s.bundle * s.bundles);
  }
  s.units = taps_of(p) * s.bundles * (s.filters / 16) * (s.width / 16);
  s.chunks = ceil_div(s.units, warps * warp_units);
  return s;
}

inline constexpr int mask_bytes = BundleShape::tile_pixels / 2 * 4;  // static: a word for two pixels
constexpr std::int64_t smem_bytes(const ConvProblem& p, const GroupedTiles& t) {
  const Sums s = sums_of(p);
  return t.in_rows * t.in_columns * s.pixel_bytes() + BundleShape::tile_pixels * s.dy_bytes();
}

inline std::string refuse_groups(const ConvProblem& p) {
  const std::int64_t group = channels_of_group(p), most = 64;
  if (group > most) return "groups of more than 64 channels";
  if (p.geometry.groups == 1) return {};
  if (filters_of_group(p) != group) return "it is for groups of as many channels as filters";
  return group == 2 || group == 4 || group % 8 == 0 ? "" : "groups are not of 2 or 4 channels, or of eights";
}

inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  if (p.dtype == f32) return only_16_bits;
  if (has_dx(p) || !has_dw(p)) return "it is for the gradient of the filters alone";
  if (device.is_cpu() || device.cc < 80) return "the device has no tensor cores of compute capability 8.0";
  if (p.y.count() == 0 || p.x.count() == 0) return no_products;
  if (std::string why = refuse_groups(p); !why.empty()) return why;
  if (std::string why = grouped::refuse_layouts(p); !why.empty()) return why;
  if (p.y.shape[1] % grouped_vector(size_of(p.dtype)) != 0) return "filters are not whole pieces of 16 bytes";
  if (std::string why = grouped_mma::refuse_places(p); !why.empty()) return why;
  if (sums_of(p).columns * sums_of(p).chunks > max_grid_y) return "more than 65535 blocks side by side";
  if (real(p.w.count()) >= int_range / 2) return "filters of 2^30 elements or more";
  if (real(p.dw->span()) >= int_range) return "offsets of 2^31 or more";
  return roofline::refuse_smem(smem_bytes(p, best_grouped_tiles(p)) + mask_bytes, device);
}

// Blocks along the tiles: the parts of the sums. A part has two tiles at least, where there are.
inline std::int64_t parts_of(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  const GroupedTiles t = best_grouped_tiles(p);
  const Sums s = sums_of(p);
  const std::int64_t at_a_time =
      std::max(device.sms, 1) * grouped_mma::resident(c, smem_bytes(p, t) + mask_bytes, device);
  return std::clamp<std::int64_t>(at_a_time / (s.columns * s.chunks), 1, ceil_div(t.count(), 2));
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t parts = parts_of(c, p, device);
  return {.grid = parts * sums_of(p).columns * sums_of(p).chunks,
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = static_cast<int>(smem_bytes(p, best_grouped_tiles(p))),
          .workspace = static_cast<std::size_t>(parts * p.w.count()) * sizeof(float)};
}

// Fitted on an H200 to 16 to 64 channels, one group and many (bench/results/h200/sweep_rows.json). Threads divide for
// the place of each piece that they copy; a second buffer, so that copies overlap products, gained nothing there.
inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double unit_clocks = 15;                              // a fragment from shared memory, and its products
  constexpr double copy_instructions = 350;                       // of a piece
  constexpr double copied_share = 0.7, add_us = 2, waits = 1.25;  // as grouped_mma's
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const GroupedTiles t = best_grouped_tiles(p);
  const Sums sums = sums_of(p);
  const double pieces = real(t.in_rows) * real(t.in_columns) * sums.bundles * sums.width / 8 +
                        BundleShape::tile_pixels * sums.bundles * sums.filters / 8.0;
  const double of_tile = BundleShape::tile_pixels / 16 * real(sums.units) * unit_clocks +
                         real(sums.chunks) * pieces * copy_instructions / 32 / 4;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.clocks = waits * real(t.count()) * real(sums.columns) * of_tile;
  k.block_us = start_us;
  k.memory_share = copied_share;
  k.launches = 2;
  k.serial_us = add_us;
  const double written = 4.0 * real(parts_of(c, p, device)) * real(p.w.count());
  k.bytes_read += written;
  k.bytes_written += written;
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::conv_detail::few_gradient
