// The table of conv2d's kernels, and every fact that plan and kernels share.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/conv/geometry.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/gemm/config.hpp>

#include <algorithm>

namespace ridge::conv_detail {

enum class Method : std::uint8_t {
  naive,     // a thread per output, 64-bit offsets
  coarse,    // 8 x 4 outputs of a thread
  direct,    // an image's tile in shared memory, a strip of outputs of several filters in each thread's registers
  grouped,   // groups of few channels, channels innermost: a thread has whole groups of neighbouring outputs
  implicit,  // a matrix product whose operand is gathered from the image
  winograd,  // 16 products of sums for 36, as matrix products between transforms
  fma,       // implicit's product by multiply-adds of what Hopper's TMA gathers
  wgmma,     // the same on Hopper's tensor cores, gathered by TMA: gemm's kernel with a loader of images
  stem,      // few channels on Hopper's tensor cores: threads read windows' rows from an image in shared memory
};

struct Config {
  Method method = Method::naive;
  int threads = 256;
  int size = 0;     // direct: rows and columns of a filter; stem: rows
  int filters = 1;  // direct: of a thread, at a time; grouped: of a group, and its channels
  int rows = 1;     // direct: of outputs, of a thread; grouped: outputs beside each other; fma: pixels of a thread
  // implicit, winograd, fma, wgmma: filters and pixels of a block's tile (of winograd, groups of 2 x 2 of them); in the
  // gradient of the filters, filters and taps.
  int tile_filters = 128, tile_pixels = 128;
  int blocks_per_sm = 1;       // least residency asked of the compiler
  int blocks_per_sm_wide = 1;  // implicit: of all but y and dx in NCHW, whose threads have more places in registers
  // wgmma: who does what, buffers of a step, and blocks that share their filters (gemm/config.hpp).
  gemm_kernels::Schedule schedule = gemm_kernels::Schedule::cooperative;
  int stages = 1, cluster = 1;
  int step = 64;  // wgmma, fma: channels of a tap at a time, a line of shared memory; stem: elements of a window's row
  bool tf32 = false;  // wgmma: of float32, whose fractions' first 10 bits are multiplied
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any strides and sizes", {}, Role::fallback},
    {"tile_8x4", "8 x 4 outputs of a thread: a filter's element is read once for 32 products", {.method = Method::coarse, .threads = 128}, Role::fallback},
    {"direct_3x3", "few channels: inputs and filters in shared memory, 2 x 4 outputs of three filters in a thread's registers",
     {.method = Method::direct, .threads = 128, .size = 3, .filters = 3, .rows = 2, .blocks_per_sm = 6}},
    {"direct_3x3_wide", "the same, four filters at a time",
     {.method = Method::direct, .threads = 128, .size = 3, .filters = 4, .rows = 2, .blocks_per_sm = 6}},
    {"direct_6x6", "the same for filters of 6 x 6, six at a time",
     {.method = Method::direct, .threads = 128, .size = 6, .filters = 6, .rows = 2, .blocks_per_sm = 4}},
    {"depthwise_3x3", "the same for groups of one channel and one filter",
     {.method = Method::direct, .threads = 128, .size = 3, .filters = 1, .rows = 2, .blocks_per_sm = 8}},
    {"depthwise_last", "channels innermost: 16 bytes of them at a time, of four outputs beside each other",
     {.method = Method::grouped, .rows = 4, .blocks_per_sm = 3}},
    {"grouped_4_last", "the same for groups of four channels and four filters",
     {.method = Method::grouped, .filters = 4, .rows = 4, .blocks_per_sm = 2}},
    {"implicit_64", "a matrix product of filters and gathered pixels, 64 x 128 of a block",
     {.method = Method::implicit, .threads = 128, .tile_filters = 64, .blocks_per_sm = 3, .blocks_per_sm_wide = 2}},
    {"implicit_128", "128 x 128 of a block: fewer reads of either operand",
     {.method = Method::implicit, .threads = 256}},
    {"winograd", "filters of 3 x 3: 16 products for 36, of sums of inputs and of filters, as 16 matrix products",
     {.method = Method::winograd, .tile_filters = 64, .blocks_per_sm = 4, .stages = 3, .step = 16}},
    {"fma_64", "a copy engine gathers the pixels: threads do nothing but multiply; 128 pixels and 64 filters",
     {.method = Method::fma, .threads = 160, .rows = 8, .tile_filters = 64, .blocks_per_sm = 2, .stages = 4, .step = 32}},
    {"fma_128", "64 pixels and 128 filters: few pixels fill a tile",
     {.method = Method::fma, .threads = 160, .rows = 8, .tile_pixels = 64, .blocks_per_sm = 2, .stages = 4, .step = 32}},
    {"fma_256", "48 pixels and 256 filters: a wave of few images",
     {.method = Method::fma, .threads = 288, .rows = 6, .tile_filters = 256, .tile_pixels = 48, .stages = 5, .step = 32}},
    {"wgmma_64", "tensor cores; a copy engine gathers the pixels: 128 of them and 64 filters for each of two warpgroups",
     {.method = Method::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 8}},
    {"wgmma_64_thin", "the same by 32 channels at a time, for windows of few channels",
     {.method = Method::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 16, .step = 32}},
    {"wgmma_128", "128 pixels and 128 filters for two warpgroups: less to load, and one wave of more images",
     {.method = Method::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::cooperative, .stages = 6}},
    {"wgmma_128_ping_pong", "the warpgroups have such tiles of their own: one stores while the other multiplies",
     {.method = Method::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 6}},
    {"wgmma_256", "256 filters; clusters of two blocks load them once",
     {.method = Method::wgmma, .threads = 384, .tile_filters = 256, .schedule = gemm_kernels::Schedule::cooperative, .stages = 4, .cluster = 2}},
    {"stem_7", "7 rows of few channels: windows are read from a part of the image in shared memory, straight into registers",
     {.method = Method::stem, .threads = 512, .size = 7, .tile_filters = 64, .tile_pixels = 64, .stages = 3, .step = 24}},
    {"tf32_64", "float32 as TF32 on tensor cores, by 32 channels at a time, where math=tf32 allows it",
     {.method = Method::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 8, .step = 32, .tf32 = true}},
    {"tf32_128", "128 pixels and 128 filters for two warpgroups",
     {.method = Method::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::cooperative, .stages = 6, .step = 32, .tf32 = true}},
    {"tf32_256", "256 filters; clusters of two blocks load them once",
     {.method = Method::wgmma, .threads = 384, .tile_filters = 256, .schedule = gemm_kernels::Schedule::cooperative, .stages = 4, .cluster = 2, .step = 32, .tf32 = true}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Whether the row is compiled for a type. Direct rows, Winograd's and those of multiply-adds alone are for float32, as
// are tensor cores of TF32; other tensor cores are for 16-bit types.
constexpr bool is_compiled(const Config& c, DType dtype) {
  switch (c.method) {
    case Method::direct:
    case Method::winograd:
    case Method::fma: return dtype == f32;
    case Method::wgmma: return (dtype == f32) == c.tf32;
    case Method::stem: return dtype != f32;
    default: return true;
  }
}
// Rows that read copies as gathering_of() says, and all that are compiled for CUDA alone.
constexpr bool gathers(const Config& c) { return c.method == Method::fma || c.method == Method::wgmma; }
constexpr bool is_for_hopper(const Config& c) { return gathers(c) || c.method == Method::stem; }

// ---- sizes of a problem --------------------------------------------------------------------------------------------

constexpr std::int64_t channels_of_group(const ConvProblem& p) { return p.w.shape[1]; }
constexpr std::int64_t filters_of_group(const ConvProblem& p) { return p.w.shape[0] / p.geometry.groups; }
constexpr std::int64_t taps_of(const ConvProblem& p) { return p.w.shape[2] * p.w.shape[3]; }
constexpr std::int64_t pixels_of(const ConvProblem& p) { return p.y.shape[0] * p.y.shape[2] * p.y.shape[3]; }
constexpr std::int64_t terms_of(const ConvProblem& p) { return channels_of_group(p) * taps_of(p); }  // of an output

constexpr Axis axis_h(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return {p.x.shape[2], p.y.shape[2], p.w.shape[2], g.stride.h, g.pad.top, g.dilation.h};
}
constexpr Axis axis_w(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return {p.x.shape[3], p.y.shape[3], p.w.shape[3], g.stride.w, g.pad.left, g.dilation.w};
}

// ---- coarse --------------------------------------------------------------------------------------------------------

inline constexpr int coarse_rows = 4, coarse_columns = 8;  // of outputs, of a thread
constexpr std::int64_t coarse_items(const ConvProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], coarse_rows) * ceil_div(p.y.shape[3], coarse_columns);
}

// ---- direct --------------------------------------------------------------------------------------------------------

inline constexpr int direct_lanes = 32;  // threads along a row
inline constexpr int direct_strip = 4;   // neighbouring outputs of a thread: one 16-byte access of shared memory
inline constexpr int direct_columns = direct_lanes * direct_strip;  // of a block's tile of outputs
constexpr int direct_rows(const Config& c) { return c.threads / direct_lanes * c.rows; }
constexpr int direct_input_rows(const Config& c) { return direct_rows(c) + c.size - 1; }
// A strip's window is read in whole units, also the last lane's.
constexpr int direct_window(const Config& c) { return (direct_strip + c.size - 1 + 3) / 4 * 4; }
constexpr int direct_pitch(const Config& c) { return direct_columns - direct_strip + direct_window(c); }
// The elements of one row of `filters` filters, [size][filters], to whole units of 16 bytes.
constexpr int direct_filter_row(const Config& c) { return (c.size * c.filters + 3) / 4 * 4; }
constexpr std::int64_t direct_image_floats(const Config& c, std::int64_t channels) {
  return channels * direct_input_rows(c) * direct_pitch(c);
}
constexpr std::int64_t direct_filter_floats(const Config& c, std::int64_t channels, std::int64_t filters) {
  return ceil_div(filters, c.filters) * channels * c.size * direct_filter_row(c);
}
// The tile of inputs of all channels, all filters, and each thread's outputs on their way to memory.
constexpr std::int64_t direct_smem_bytes(const Config& c, std::int64_t channels, std::int64_t filters) {
  return static_cast<std::int64_t>(sizeof(float)) *
         (direct_image_floats(c, channels) + direct_filter_floats(c, channels, filters) +
          direct_rows(c) * direct_columns);
}
constexpr std::int64_t direct_grid(const Config& c, const ConvProblem& p) {
  return p.y.shape[0] * p.geometry.groups * ceil_div(p.y.shape[2], direct_rows(c)) *
         ceil_div(p.y.shape[3], direct_columns);
}

// ---- grouped -------------------------------------------------------------------------------------------------------

constexpr int grouped_vector(std::size_t element_bytes) { return static_cast<int>(16 / element_bytes); }  // channels
// Of a block: a warp's worth, or all there are.
inline constexpr std::int64_t grouped_most_vectors = 32;
constexpr std::int64_t grouped_vectors(const ConvProblem& p) {
  return std::min(ceil_div(p.x.shape[1], grouped_vector(size_of(p.dtype))), grouped_most_vectors);
}
constexpr std::int64_t grouped_smem_bytes(const Config& c, const ConvProblem& p) {
  return grouped_vectors(p) * grouped_vector(size_of(p.dtype)) * taps_of(p) * c.filters * 4;
}
constexpr std::int64_t grouped_strips(const Config& c, const ConvProblem& p) {
  return p.y.shape[0] * p.y.shape[2] * ceil_div(p.y.shape[3], c.rows);
}

// ---- implicit ------------------------------------------------------------------------------------------------------

inline constexpr int implicit_step = 8;  // elements of the sums' index in shared memory at a time
// The tile as gemm's kernels have it. With channels innermost, pixels are the product's rows, so that what is
// neighbours in memory, filters, is neighbours in a row of the result.
constexpr gemm_kernels::Config implicit_tile(const Config& c, bool pixels_are_rows) {
  gemm_kernels::Config tile;
  tile.bm = pixels_are_rows ? c.tile_pixels : c.tile_filters;
  tile.bn = pixels_are_rows ? c.tile_filters : c.tile_pixels;
  tile.bk = implicit_step;
  tile.pipeline = gemm_kernels::Pipeline::double_buffer;
  tile.conflict_free = true;
  return tile;
}
constexpr std::int64_t implicit_tiles(const Config& c, std::int64_t filters, std::int64_t columns) {
  return ceil_div(filters, c.tile_filters) * ceil_div(columns, c.tile_pixels);
}

// ---- winograd ------------------------------------------------------------------------------------------------------

inline constexpr int winograd_outputs = 2;    // a tile's rows and columns, of outputs
inline constexpr int winograd_products = 16;  // of a tile, a channel and a filter
// Of transformed inputs and products at a time: more images than that are taken one part after the other, each of one
// image at least.
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

// How the images are cut, and what lies where in the workspace, in floats: u, v, m.
struct WinogradParts {
  std::int64_t tiles_h = 0, tiles_w = 0;  // of an image
  std::int64_t images = 0, parts = 0;     // of a part; how many
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

// ---- wgmma ---------------------------------------------------------------------------------------------------------

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

inline constexpr int gradient_group = 64;
// Rows that gradients are computed by, beside their convolution: those of 64 channels at a time.
constexpr bool has_gradient(const Config& c) { return c.method == Method::wgmma && c.step == gradient_group; }
// The gradient of the filters, of all rows: the product's rows are filters, its columns groups of a tap's 64 channels.
constexpr gemm_kernels::Config filter_gradient_tile() {
  gemm_kernels::Config tile;
  tile.family = gemm_kernels::Family::wgmma;
  tile.bm = 128;
  tile.bn = 256;
  tile.bk = gradient_group;
  tile.stages = 4;
  tile.schedule = gemm_kernels::Schedule::cooperative;
  tile.persistent = true;
  return tile;
}
constexpr std::int64_t filter_gradient_columns(const ConvProblem& p) {
  return taps_of(p) * ceil_div(channels_of_group(p), gradient_group) * gradient_group;
}
// Parts that take the fewest waves of tiles, and the time of moving a part's sums beside them: as many of these pass
// through memory in the time of a step as a multiprocessor has of its rate.
inline int filter_gradient_split(const ConvProblem& p, int sms) {
  constexpr gemm_kernels::Config tile = filter_gradient_tile();
  constexpr std::int64_t most = 64, bytes_of_step = 4096;
  constexpr std::int64_t bytes_of_sum = 8, start = 8;  // written and read; steps that a tile takes besides its own
  const std::int64_t steps = ceil_div(pixels_of(p), gradient_group);
  const std::int64_t tiles = ceil_div(p.w.shape[0], tile.bm) * ceil_div(filter_gradient_columns(p), tile.bn);
  const std::int64_t places = std::max(sms, 1);
  std::int64_t best = 1, least = 0;
  for (std::int64_t parts = 1; parts <= std::min(most, steps); ++parts) {
    const std::int64_t waves = ceil_div(tiles * parts, places);
    const std::int64_t time =
        waves * (ceil_div(steps, parts) + start) + bytes_of_sum * parts * p.w.count() / places / bytes_of_step;
    if (parts == 1 || time < least) best = parts, least = time;
  }
  return static_cast<int>(best);
}

// ---- stem ----------------------------------------------------------------------------------------------------------

// A patch of outputs is what a warpgroup multiplies at a time: each warp has a row of 16.
inline constexpr int stem_rows = 4, stem_columns = 16;
inline constexpr int stem_unit = 8;         // neighbours along k that a thread has two of; a product takes two units
inline constexpr int stem_most_stride = 2;  // along h
inline constexpr int stem_pitch = 160;      // elements of a row of the image in shared memory: one box of TMA
constexpr int stem_warpgroups(const Config& c) { return c.threads / 128; }
constexpr int stem_units(const Config& c) { return c.size * c.step / stem_unit; }
constexpr int stem_products(const Config& c) { return (stem_units(c) + 1) / 2; }
constexpr int stem_image_rows(const Config& c) { return (stem_rows - 1) * stem_most_stride + c.size; }
// Shared memory: filters, in lines of 64 along k; 4096 bytes of each warp; parts of the image; bias; barriers.
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
// TMA begins at whole 16 bytes: so many elements before the first window's.
constexpr std::int64_t stem_lead(const ConvProblem& p) {
  const std::int64_t left = p.geometry.pad.left * p.x.shape[1];
  return ceil_div(left, stem_unit) * stem_unit - left;
}
constexpr std::int64_t stem_patches(const ConvProblem& p) {
  return p.y.shape[0] * ceil_div(p.y.shape[2], stem_rows) * ceil_div(p.y.shape[3], stem_columns);
}

// ---- fma -----------------------------------------------------------------------------------------------------------

// 32 threads are 8 along pixels and 4 along filters; a thread has Config::rows pixels and so many filters.
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
constexpr std::int64_t fma_tiles(const Config& c, const ConvProblem& p) {
  return ceil_div(pixels_of(p), c.tile_pixels) * ceil_div(p.w.shape[0], c.tile_filters);
}
constexpr int fma_smem_bytes(const Config& c) {
  return c.stages * ((c.tile_pixels + c.tile_filters) * 128 + 2 * 8);  // and barriers: full, empty
}

// Parts of the pixels whose sums are kept apart in the filters' gradient, and added up in their order afterwards:
// enough for two blocks per multiprocessor, each of 256 pixels at least.
inline constexpr int least_part = 256, max_split = 256;
inline std::int64_t split_of(const Config& c, const ConvProblem& p, int sms) {
  if (!p.backward) return 1;
  if (c.method == Method::wgmma) return filter_gradient_split(p, sms);
  if (c.method != Method::implicit) return 1;
  const std::int64_t tiles =
      std::max<std::int64_t>(1, p.geometry.groups * implicit_tiles(c, filters_of_group(p), terms_of(p)));
  return std::clamp<std::int64_t>(ceil_div(2 * sms, tiles), 1,
                                  std::clamp<std::int64_t>(pixels_of(p) / least_part, 1, max_split));
}

}  // namespace ridge::conv_detail
