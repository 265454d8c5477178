// The convolution and its gradients as implicit GEMM: one operand is gathered from an image (im2col).
#pragma once
#include <ridge/conv/slices.hpp>
#include <ridge/gemm/thread_tile.hpp>

namespace ridge::conv_detail {

inline constexpr int implicit_step = 8;  // elements along k in shared memory at a time
// The tile as a config of gemm's kernels. With channels innermost, pixels are the product's rows (swap-AB), so that
// filters, which are contiguous in memory, are contiguous in a row of the result.
constexpr gemm_kernels::Config implicit_tile(const Config& c, bool pixels_are_rows) {
  gemm_kernels::Config tile;
  tile.bm = pixels_are_rows ? c.tile_pixels : c.tile_filters;
  tile.bn = pixels_are_rows ? c.tile_filters : c.tile_pixels;
  tile.bk = implicit_step;
  tile.pipeline = gemm_kernels::Pipeline::double_buffer;
  tile.conflict_free = true;
  return tile;
}
constexpr int implicit_smem_bytes(const Config& c, bool pixels_are_rows) {
  return gemm_kernels::thread_tile_smem_bytes(implicit_tile(c, pixels_are_rows), f32);
}

namespace implicit {

// ---- split-K slices

inline gemm_kernels::Shape shape(const Config&, const ConvProblem& p, int wanted) {
  return shape_in_slices(p, channels_last(p), ceil_div(terms_of(p), implicit_step), wanted);
}
// The parts of dw's pixels: enough for two blocks per multiprocessor, of 256 pixels each at least.
inline int parts(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t least_part = 256, most = 256;
  const std::int64_t tiles =
      std::max<std::int64_t>(1, p.geometry.groups * tiles_of(c, filters_of_group(p), terms_of(p)));
  return static_cast<int>(std::clamp<std::int64_t>(ceil_div(2 * device.sms, tiles), 1,
                                                   std::clamp<std::int64_t>(pixels_of(p) / least_part, 1, most)));
}
inline std::int64_t copies(const Config&, const ConvProblem&) { return 0; }
inline constexpr Slicing slicing{shape, copies, parts};

// ---- fits

inline std::string refuse_sizes(const ConvProblem& p) {
  constexpr std::int64_t most = (std::int64_t{1} << 31) - implicit_step;
  const std::int64_t filter_terms = filters_of_group(p) * taps_of(p);  // in the sum of an element of dx
  const std::int64_t pixels = std::max(pixels_of(p), pixels_of(p.x));
  if (std::max({pixels, terms_of(p), filter_terms}) >= most) return "sums or images of 2^31 elements or more";
  for (const Layout* t : {&p.x, &p.y, p.dx ? &*p.dx : nullptr})
    if (t && reach(*t, p) >= int_range) return "offsets of 2^31 or more";
  for (const Layout* t : {&p.w, p.dw ? &*p.dw : nullptr})
    if (t && t->span() >= most) return "offsets of 2^31 or more";
  const std::int64_t extent_h = (p.w.shape[2] - 1) * p.geometry.dilation.h;
  const std::int64_t extent_w = (p.w.shape[3] - 1) * p.geometry.dilation.w;
  const std::int64_t extent_d = (depth_of(p.w) - 1) * p.geometry.depth.dilation;
  if (std::max({extent_h, extent_w, extent_d}) >= std::int64_t{1} << 30) return "an extent of 2^30 or more";
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (std::string why = refuse_sizes(p); !why.empty()) return why;
  if (std::string why = refuse_phases(p); !why.empty()) return why;
  const std::int64_t sums = std::max({pixels_of(p.x), pixels_of(p), terms_of(p)});
  const std::int64_t rows = std::max(filters_of_group(p), channels_of_group(p));
  const bool fewer =
      ceil_div(rows, c.tile_filters) <= max_grid / std::max<std::int64_t>(1, ceil_div(sums, c.tile_pixels));
  return fewer ? "" : "more than 2^31 blocks";
}

// ---- footprint and model

// Gradients take several launches: the footprint is the larger of y's launch, for dx, and the filter gradient's.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t filters = filters_of_group(p), groups = p.geometry.groups;
  Footprint launch{.grid = groups * tiles_of(c, filters, pixels_of(p)),
                   .threads = c.threads,
                   .registers = 128,
                   .smem = implicit_smem_bytes(c, channels_last(p))};
  if (has_dw(p)) {
    launch.grid = std::max(launch.grid, groups * s.split * tiles_of(c, filters, terms_of(p)));
    launch.workspace = static_cast<std::size_t>(s.split) * static_cast<std::size_t>(p.w.count()) * sizeof(float);
  } else if (!p.backward) {
    const gemm_kernels::Shape product = shape(c, p, s.split);
    launch.grid *= product.slices;
    launch.workspace = sliced_workspace(copies(c, p), product);
  }
  return launch;
}

inline double clocks(const Config& c, const ConvProblem& p) {
  const std::int64_t channels = channels_of_group(p), filters = filters_of_group(p);
  // A thread has 64 multiply-adds per four reads; loading and transposing the operands comes on top. Measured.
  const double work = c.tile_filters < 128 ? 2.4 : 2.2;
  const double groups = real(p.geometry.groups);
  const double output = padded(filters, c.tile_filters) * padded(pixels_of(p), c.tile_pixels) * real(terms_of(p));
  // Lanes have neighbouring pixels: where channels are innermost, each stores to a sector of its own. H200.
  constexpr double scattered_store = 1.9;
  if (!p.backward) return groups * output / 128 * work + (channels_last(p) ? scattered_store * real(p.y.count()) : 0);
  const double inputs = padded(channels, c.tile_filters) * padded(pixels_of(p.x), c.tile_pixels) * real(filters) *
                        std::max(1.0, real(taps_of(p)) / phase_count(p));
  const double weights = padded(filters, c.tile_filters) * padded(terms_of(p), c.tile_pixels) * real(pixels_of(p));
  return groups * (real(has_dx(p)) * inputs + 1.3 * real(has_dw(p)) * weights) / 128 * work;
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  // grouped: of groups, whose filters are a part of a tile; H200, depthwise filters of one image.
  constexpr double implicit_waits_alone = 1.35, implicit_start_us = 2, grouped = 2;
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t filters = filters_of_group(p);
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.block.smem = implicit_smem_bytes(c, false);  // NHWC takes up to 512 bytes more, without loss of occupancy
  k.clocks = clocks(c, p);
  const gemm_kernels::Shape product = shape(c, p, p.backward ? 1 : s.split);
  // Of a block's sum. With both gradients, which are of several sizes, the forward's were fitted.
  const std::int64_t terms = product.slices > 1        ? product.slice_k * implicit_step
                             : !p.backward             ? terms_of(p)
                             : has_dx(p) && !has_dw(p) ? terms_of_input(p)
                             : has_dw(p) && !has_dx(p) ? ceil_div(pixels_of(p), s.split)
                                                       : terms_of(p);
  k.block_us = 0.02 * std::min(real(terms), 1e6);  // steps of eight, each with a barrier
  add_slices_to(k, product, device);
  if (!p.backward) {
    k.block_us += implicit_start_us;
    if (k.blocks <= device.sms && c.threads <= 128) k.clocks *= implicit_waits_alone;
    if (p.geometry.groups > 1) k.clocks *= grouped;
  } else {
    k.launches = (has_dx(p) ? static_cast<int>(phase_count(p)) : 0) + (has_dw(p) ? 2 : 0);
    if (has_dw(p)) k.bytes_written += 2.0 * s.split * 4 * real(p.w.count());
  }
  k.tile_efficiency = real(filters) * real(pixels_of(p)) /
                      std::max(1.0, padded(filters, c.tile_filters) * padded(pixels_of(p), c.tile_pixels));
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace implicit
}  // namespace ridge::conv_detail
