// The table of the family's kernels, which all its operators share. The header beside each family's .cuh says what its
// kernels need, take and cost: naive, coarse, halo, direct, grouped, sm80_grouped, depthwise, depthwise_planes,
// depthwise_gradient, implicit, winograd, sm90_fma, sm90_wgmma, sm90_stem, sm90_shuffle; product, channels_last,
// each_gradient, flipped and windows are rows that run by plans.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/gemm/config.hpp>

#include <string_view>

namespace ridge::conv_detail {

// In the order of `families` (families.hpp).
enum class Algorithm : std::uint8_t {
  naive,          // a thread per output, 64-bit offsets
  product,        // one tap: gemm's plans
  channels_last,  // copies to NHWC with whole vectors, and a plan for those
  each_gradient,  // dx and dw, by a plan each
  flipped,        // dx: a convolution of dy for each phase of the stride, by a plan each
  windows,        // dw: windows copied side by side, and a plan for filters of one tap
  coarse,         // 8 x 4 outputs per thread
  halo,           // the same, from a tile of inputs in shared memory, channel by channel
  direct,         // an image's tile in shared memory, a strip of outputs of several filters in each thread's registers
  grouped,        // groups of few channels, channels innermost: a thread has whole groups of neighbouring outputs
  grouped_mma,    // groups of 2 to 64 channels on tensor cores (mma.sync): a tile of pixels in shared memory
  few_channels,   // the same for one group of up to 64 channels
  few_gradient,   // the gradient of the filters of both
  depthwise,      // groups of one channel and filters of a fixed size: inputs are loaded once for all outputs
  depthwise_planes,    // the same in NCHW, from planes in shared memory
  depthwise_gradient,  // depthwise's gradients, and its transposed convolution
  implicit,            // implicit GEMM: a matrix product with one operand gathered from the image
  winograd,            // 16 products of sums for 36, as matrix products between transforms
  fma,                 // implicit GEMM by multiply-adds; Hopper's TMA gathers (im2col)
  wgmma,               // implicit GEMM on Hopper's tensor cores; TMA gathers: gemm's kernel with an image loader
  stem,     // few channels on Hopper's tensor cores: threads read windows' rows from an image in shared memory
  shuffle,  // windows side by side, transposed: one product on Hopper's tensor cores, stored tap by tap
};
inline constexpr int algorithm_count = 22;

constexpr bool is_by_mma(Algorithm a) {
  return a == Algorithm::grouped_mma || a == Algorithm::few_channels || a == Algorithm::few_gradient;
}

struct Config {
  Algorithm algorithm = Algorithm::naive;
  int threads = 256;
  int size = 0;     // direct, depthwise, depthwise_planes: rows and columns of a filter; stem: rows
  int filters = 1;  // direct: filters of a thread at a time; grouped: filters and channels of a group
  // halo, direct, depthwise_planes: rows of a thread's outputs; grouped, depthwise: outputs side by side; fma: pixels
  int rows = 1;
  // implicit, winograd, fma, wgmma: filters and pixels of a block's tile (winograd: groups of 2 x 2 pixels); in the
  // filter gradient, filters and taps.
  int tile_filters = 128, tile_pixels = 128;
  int blocks_per_sm = 1;       // minimum occupancy, for __launch_bounds__
  int blocks_per_sm_wide = 1;  // implicit: the same for all but y and dx in NCHW; those threads hold more offsets
  // wgmma: warp roles, pipeline stages (halo: a channel each), and blocks that share their filters (gemm/config.hpp).
  gemm_kernels::Schedule schedule = gemm_kernels::Schedule::cooperative;
  int stages = 1, cluster = 1;
  // wgmma, fma: channels of a tap at a time, a line of shared memory; stem: elements of a window's row; grouped_mma:
  // channels of a group, or of several together; few_channels: the most.
  int step = 64;
  bool tf32 = false;  // wgmma: multiplies float32 as TF32, with 10 bits of fraction
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any strides and sizes", {}},
    {"product", "filters of one tap: a matrix product, by gemm's own plan", {.algorithm = Algorithm::product}},
    {"channels_last", "another layout, or few channels: copied to NHWC with whole vectors, run by a plan of its own, and copied back",
     {.algorithm = Algorithm::channels_last}},
    {"each_gradient", "both gradients, by a plan each", {.algorithm = Algorithm::each_gradient}},
    {"flipped", "the gradient of x alone: a convolution of dy with taps in reverse order, by a plan of its own; one for each phase of the stride",
     {.algorithm = Algorithm::flipped}},
    {"windows", "the gradient of the filters alone: windows copied side by side, and a matrix product by a plan of its own",
     {.algorithm = Algorithm::windows}},
    {"tile_8x4", "8 x 4 outputs per thread: a filter's element is read once for 32 products", {.algorithm = Algorithm::coarse, .threads = 128}, Role::fallback},
    {"halo_8x4", "their inputs, the halo around them included, in shared memory: a channel at a time, read once for all taps",
     {.algorithm = Algorithm::halo, .threads = 128, .rows = 4, .blocks_per_sm = 6}, Role::lesson},
    {"prefetch_8x4", "the next channel's inputs are on their way while one is computed: two stages of shared memory",
     {.algorithm = Algorithm::halo, .threads = 128, .rows = 4, .blocks_per_sm = 6, .stages = 2}, Role::lesson},
    {"direct_3x3", "few channels: inputs and filters in shared memory, 2 x 4 outputs of three filters in a thread's registers",
     {.algorithm = Algorithm::direct, .threads = 128, .size = 3, .filters = 3, .rows = 2, .blocks_per_sm = 6}},
    {"direct_3x3_wide", "the same, four filters at a time",
     {.algorithm = Algorithm::direct, .threads = 128, .size = 3, .filters = 4, .rows = 2, .blocks_per_sm = 6}},
    {"direct_6x6", "the same for filters of 6 x 6, six at a time",
     {.algorithm = Algorithm::direct, .threads = 128, .size = 6, .filters = 6, .rows = 2, .blocks_per_sm = 4}},
    {"depthwise_3x3", "the same for groups of one channel and one filter",
     {.algorithm = Algorithm::direct, .threads = 128, .size = 3, .filters = 1, .rows = 2, .blocks_per_sm = 8}},
    {"depthwise_last", "channels innermost: a 16-byte vector of them for four neighbouring outputs",
     {.algorithm = Algorithm::grouped, .rows = 4, .blocks_per_sm = 2}},
    {"depthwise_3_last", "filters of 3 x 3: a row of inputs is loaded once for the four outputs, and each input upcast once",
     {.algorithm = Algorithm::depthwise, .size = 3, .rows = 4, .blocks_per_sm = 2}},
    {"depthwise_5_last", "the same for 5 x 5",
     {.algorithm = Algorithm::depthwise, .size = 5, .rows = 4, .blocks_per_sm = 2}},
    {"depthwise_7_last", "and for 7 x 7",
     {.algorithm = Algorithm::depthwise, .threads = 128, .size = 7, .rows = 4, .blocks_per_sm = 3}},
    {"depthwise_3_planes", "NCHW: planes or bands of them in shared memory, copied as they follow one another; 7 outputs one below the other in each thread",
     {.algorithm = Algorithm::depthwise_planes, .threads = 128, .size = 3, .rows = 7, .blocks_per_sm = 8}},
    {"depthwise_5_planes", "the same for 5 x 5",
     {.algorithm = Algorithm::depthwise_planes, .threads = 128, .size = 5, .rows = 7, .blocks_per_sm = 6}},
    {"depthwise_7_planes", "and for 7 x 7",
     {.algorithm = Algorithm::depthwise_planes, .threads = 128, .size = 7, .rows = 7, .blocks_per_sm = 5}},
    {"grouped_4_last", "the same as depthwise_last for groups of four channels and four filters",
     {.algorithm = Algorithm::grouped, .filters = 4, .rows = 4, .blocks_per_sm = 2}},
    {"grouped_16", "groups of up to 16 channels on tensor cores: 128 pixels with the inputs around them, and filters, in shared memory",
     {.algorithm = Algorithm::grouped_mma, .tile_filters = 16, .blocks_per_sm = 3, .step = 16}},
    {"grouped_32", "the same for groups of up to 32",
     {.algorithm = Algorithm::grouped_mma, .tile_filters = 32, .blocks_per_sm = 3, .step = 32}},
    {"grouped_48", "for groups of up to 48",
     {.algorithm = Algorithm::grouped_mma, .tile_filters = 48, .blocks_per_sm = 3, .step = 48}},
    {"grouped_64", "and for groups of up to 64",
     {.algorithm = Algorithm::grouped_mma, .tile_filters = 64, .blocks_per_sm = 2, .step = 64}},
    {"few_16", "up to 64 channels in one group, in the same way: 16 filters at a time",
     {.algorithm = Algorithm::few_channels, .tile_filters = 16, .blocks_per_sm = 3}},
    {"few_32", "32 filters at a time",
     {.algorithm = Algorithm::few_channels, .tile_filters = 32, .blocks_per_sm = 3}},
    {"few_64", "64 filters at a time",
     {.algorithm = Algorithm::few_channels, .tile_filters = 64, .blocks_per_sm = 2}},
    {"few_gradient", "the gradient of the filters of such groups, or of up to 64 channels: sums of all taps stay in registers",
     {.algorithm = Algorithm::few_gradient, .blocks_per_sm = 2}},
    {"depthwise_3_gradient", "gradients of depthwise filters: dy's rows are loaded once for four elements of dx; a block has all taps' sums",
     {.algorithm = Algorithm::depthwise_gradient, .threads = 480, .size = 3, .rows = 4}},
    {"depthwise_5_gradient", "the same for 5 x 5",
     {.algorithm = Algorithm::depthwise_gradient, .threads = 480, .size = 5, .rows = 4}},
    {"depthwise_7_gradient", "and for 7 x 7",
     {.algorithm = Algorithm::depthwise_gradient, .threads = 448, .size = 7, .rows = 4}},
    {"implicit_64", "a matrix product of filters and gathered pixels, 64 x 128 per block",
     {.algorithm = Algorithm::implicit, .threads = 128, .tile_filters = 64, .blocks_per_sm = 3, .blocks_per_sm_wide = 2}},
    {"implicit_128", "128 x 128 per block: fewer reads of both operands",
     {.algorithm = Algorithm::implicit, .threads = 256}},
    {"winograd", "filters of 3 x 3: 16 products for 36, of sums of inputs and of filters, as 16 matrix products",
     {.algorithm = Algorithm::winograd, .tile_filters = 64, .blocks_per_sm = 4, .stages = 3, .step = 16}},
    {"fma_64", "TMA gathers the pixels: threads only multiply; 128 pixels and 64 filters",
     {.algorithm = Algorithm::fma, .threads = 160, .rows = 8, .tile_filters = 64, .blocks_per_sm = 2, .stages = 4, .step = 32}},
    {"fma_128", "64 pixels and 128 filters: few pixels fill a tile",
     {.algorithm = Algorithm::fma, .threads = 160, .rows = 8, .tile_pixels = 64, .blocks_per_sm = 2, .stages = 4, .step = 32}},
    {"fma_256", "48 pixels and 256 filters: a wave of few images",
     {.algorithm = Algorithm::fma, .threads = 288, .rows = 6, .tile_filters = 256, .tile_pixels = 48, .stages = 5, .step = 32}},
    {"fma_32", "256 pixels and 32 filters, for few filters",
     {.algorithm = Algorithm::fma, .threads = 160, .rows = 8, .tile_filters = 32, .tile_pixels = 256, .blocks_per_sm = 2, .stages = 3, .step = 32}},
    {"wgmma_64", "tensor cores; TMA gathers the pixels: 128 of them and 64 filters for each of two warpgroups",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 8}},
    {"wgmma_64_thin", "the same by 32 channels at a time, for windows of few channels",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 16, .step = 32}},
    {"wgmma_96", "128 pixels and 96 filters: 80 and 96 of them fill a tile",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 96, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 6}},
    {"wgmma_96_thin", "the same by 32 channels at a time: 80 and 96 of them are three steps",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 96, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 12, .step = 32}},
    {"wgmma_128", "128 pixels and 128 filters for two warpgroups: less to load, and one wave of more images",
     {.algorithm = Algorithm::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::cooperative, .stages = 6}},
    {"wgmma_128_ping_pong", "the warpgroups have such tiles of their own: one stores while the other multiplies",
     {.algorithm = Algorithm::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 6}},
    {"wgmma_160", "160 filters, by halves of which networks that make images are wide",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 160, .schedule = gemm_kernels::Schedule::cooperative, .stages = 5}},
    {"wgmma_192", "192 filters: as few reads as of 256, and other waves",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 192, .schedule = gemm_kernels::Schedule::cooperative, .stages = 4}},
    {"wgmma_256", "256 filters; clusters of two blocks load them once",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 256, .schedule = gemm_kernels::Schedule::cooperative, .stages = 4, .cluster = 2}},
    {"stem_7", "7 rows of few channels: windows are read from a part of the image in shared memory, straight into registers",
     {.algorithm = Algorithm::stem, .threads = 512, .size = 7, .tile_filters = 64, .tile_pixels = 64, .stages = 3, .step = 24}},
    {"tf32_64", "float32 as TF32 on tensor cores, by 32 channels at a time, where math=tf32 allows it",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 64, .schedule = gemm_kernels::Schedule::ping_pong, .stages = 8, .step = 32, .tf32 = true}},
    {"tf32_128", "128 pixels and 128 filters for two warpgroups",
     {.algorithm = Algorithm::wgmma, .threads = 384, .schedule = gemm_kernels::Schedule::cooperative, .stages = 6, .step = 32, .tf32 = true}},
    {"tf32_256", "256 filters; clusters of two blocks load them once",
     {.algorithm = Algorithm::wgmma, .threads = 384, .tile_filters = 256, .schedule = gemm_kernels::Schedule::cooperative, .stages = 4, .cluster = 2, .step = 32, .tf32 = true}},
    {"shuffle_128", "transposed, where windows lie side by side: one product for all taps, whose sums are stored where they lie",
     {.algorithm = Algorithm::shuffle, .threads = 384, .schedule = gemm_kernels::Schedule::cooperative, .stages = 6}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

}  // namespace ridge::conv_detail
