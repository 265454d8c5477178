// Stems on Hopper's tensor cores: filters of a few rows, whose windows have a few contiguous elements in each row.
#pragma once
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/sm90_wgmma.hpp>

namespace ridge::conv_detail {

// A warpgroup computes a patch of outputs at a time: each warp has a row of 16.
inline constexpr int stem_rows = 4, stem_columns = 16;
inline constexpr int stem_vector = 8;       // elements along k; a thread has two of them, a wgmma takes two vectors
inline constexpr int stem_most_stride = 2;  // along h
inline constexpr int stem_pitch = 160;      // elements of a row of the image in shared memory: one box of TMA
constexpr int stem_warpgroups(const Config& c) { return c.threads / 128; }
constexpr int stem_vectors(const Config& c) { return c.size * c.step / stem_vector; }
constexpr int stem_products(const Config& c) { return (stem_vectors(c) + 1) / 2; }
constexpr int stem_image_rows(const Config& c) { return (stem_rows - 1) * stem_most_stride + c.size; }
// Shared memory: filters, in lines of 64 along k; 4096 bytes of staging per warp; parts of the image; bias; barriers.
constexpr int stem_image_bytes(const Config& c) { return (stem_image_rows(c) * stem_pitch * 2 + 127) / 128 * 128; }
constexpr int stem_staging_at(const Config& c) { return (2 * stem_products(c) + 7) / 8 * c.tile_filters * 128; }
constexpr int stem_images_at(const Config& c) {
  return stem_staging_at(c) + c.threads / 32 * gemm_kernels::wgmma_staging_bytes;
}
constexpr int stem_bias_at(const Config& c) {
  return stem_images_at(c) + stem_warpgroups(c) * c.stages * stem_image_bytes(c);
}
constexpr int stem_barriers_at(const Config& c) { return stem_bias_at(c) + c.tile_filters * 4; }
constexpr int stem_smem_bytes(const Config& c) { return stem_barriers_at(c) + stem_warpgroups(c) * c.stages * 8; }
// TMA loads begin at multiples of 16 bytes: so many elements before the first window.
constexpr std::int64_t stem_alignment_offset(const ConvProblem& p) {
  const std::int64_t left = p.geometry.pad.left * p.x.shape[1];
  return ceil_div(left, stem_vector) * stem_vector - left;
}
constexpr std::int64_t stem_patches(const ConvProblem& p) {
  return p.y.shape[0] * ceil_div(p.y.shape[2], stem_rows) * ceil_div(p.y.shape[3], stem_columns);
}
// Blocks side by side, which cover all filters.
constexpr std::int64_t stem_columns_of_blocks(const Config& c, const ConvProblem& p) {
  return ceil_div(p.y.shape[1], c.tile_filters);
}

namespace stem {

inline std::string refuse_windows(const Config& c, const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const Layout &x = p.x, &w = p.w;
  if (g.groups != 1) return one_group;
  if (w.shape[2] != c.size || g.dilation != ConvPair{})
    return "it is for filters of " + std::to_string(c.size) + " rows, and dilations of 1";
  const std::int64_t channels = x.shape[1];
  if (channels > c.step || w.shape[3] > c.step || w.shape[3] * channels + stem_alignment_offset(p) % 2 > c.step ||
      w.shape[3] * channels <= c.step - stem_vector)
    return "a window's row is not of " + std::to_string(c.step - stem_vector + 1) + " to " + std::to_string(c.step) +
           " elements, or one less where padding is an odd number of them";
  if (p.y.count() == 0 || x.count() == 0) return no_products;
  const std::int64_t step = g.stride.w > stem_pitch ? stem_pitch : g.stride.w * channels;
  if (g.stride.h > stem_most_stride || step % 2 != 0 || (stem_columns - 1) * step + stem_vector + c.step > stem_pitch)
    return "it is for strides of at most " + std::to_string(stem_most_stride) +
           ", and an even number of elements from window to window";
  return {};
}

inline std::string refuse_layouts(const ConvProblem& p) {
  const Layout &x = p.x, &w = p.w, &y = p.y;
  const std::int64_t channels = x.shape[1];
  if (p.alignment < 16 || (channels > 1 && x.stride[1] != 1) || (x.shape[3] > 1 && x.stride[3] != channels) ||
      !is_regular(x.shape[2], x.stride[2], p.dtype) || !is_regular(x.shape[0], x.stride[0], p.dtype))
    return "x is not [n, h, w, c] whose rows start on 16 bytes";
  if ((channels > 1 && w.stride[1] != 1) || (w.shape[3] > 1 && w.stride[3] != channels))
    return "rows of filters are not contiguous";
  if (p.residual) return "it adds no residual";
  if (y.stride[1] != 1 || y.shape[1] % vector_elements(p.dtype) != 0 || !is_regular(y.shape[3], y.stride[3], p.dtype) ||
      !is_regular(y.shape[2], y.stride[2], p.dtype) || !is_regular(y.shape[0], y.stride[0], p.dtype) ||
      (y.shape[0] > 1 && y.stride[0] != y.shape[2] * y.stride[2]))
    return "y is not [n, oh, ow, k] whose pixels start on 16 bytes";
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.dtype == f32) return only_16_bits;
  if (std::string why = refuse_all_but_hopper(device); !why.empty()) return why;
  if (p.backward) return no_gradients;
  if (std::string why = refuse_windows(c, p); !why.empty()) return why;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  const ConvPad& pad = p.geometry.pad;
  const double padded_row = real(p.x.shape[3] + pad.left + pad.right + stem_vector) * real(p.x.shape[1]);
  if (padded_row >= int_range / 2 || real(p.y.shape[0]) * real(p.y.shape[2]) >= int_range / 2 ||
      real(stem_patches(p)) >= int_range / 2 || p.y.shape[1] > max_grid_y)
    return "it counts rows and patches to 2^30, and filters to 2^16";
  return refuse_smem(stem_smem_bytes(c), device);
}

// Persistent blocks: their warpgroups take patches until none is left.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const std::int64_t of_column =
      std::min<std::int64_t>(ceil_div(stem_patches(s.problem), stem_warpgroups(c)), std::max(1, device.sms));
  return {.grid = of_column * stem_columns_of_blocks(c, s.problem),
          .threads = c.threads,
          .registers = 128,
          .smem = stem_smem_bytes(c)};
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double patch_clocks = 550;  // for a patch and 64 filters: reads of shared memory, by threads and by wgmma
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.blocks = std::max(1, device.sms);  // at a time; small problems have fewer
  const double patches_each = std::ceil(real(stem_patches(p)) / (device.sms * stem_warpgroups(c)));
  k.clocks = patches_each * stem_warpgroups(c) * real(device.sms) * real(stem_columns_of_blocks(c, p)) * patch_clocks;
  k.block_us = start_us;
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace stem
}  // namespace ridge::conv_detail
