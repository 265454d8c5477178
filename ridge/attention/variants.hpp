// The table of attention kernels. Each family says what its rows need, use and cost, in the header beside its .cuh; the
// order of families is that of Algorithm (config.hpp).
#pragma once
#include <ridge/attention/attention.hpp>
#include <ridge/attention/config.hpp>

#include <iterator>
#include <string_view>

namespace ridge::attention_detail {

using namespace attention_kernels;

struct Variant {
  std::string_view name, step;
  bool f32, f16;  // instantiated for float32, for the 16-bit types
  Config config;
  double efficiency;  // fraction of the multiply-adds' rate that a full device reaches (tiled_512: estimated)
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a block per query, three passes over the keys in global memory", true, true,
     {.d = 512, .dv = 512}, 0.01},
    {"tiled", "16x16 scores at a time from shared memory, online softmax: keys are read once", true, true,
     {.algorithm = Algorithm::tiled, .bm = 16, .bn = 16, .threads = 256}, 0.05},
    {"tiled_512", "the same for heads of more than 256 columns", true, true,
     {.algorithm = Algorithm::tiled, .bm = 16, .bn = 16, .d = 512, .dv = 512, .threads = 256}, 0.04},
    {"tiled_split", "split-KV: heads that share keys share the 16 rows, and blocks take parts of the keys: few queries fill the device", true, false,
     {.algorithm = Algorithm::tiled, .bm = 16, .bn = 16, .threads = 256, .split = true, .packed = true, .blocks_per_sm = 4}, 0.036},
    {"two_float", "16x16 scores at a time as `tiled`, in double-float arithmetic: scores, sums of P and of P V are exact but for their last rounding", true, false,
     {.algorithm = Algorithm::two_float, .bm = 16, .bn = 16, .d = 512, .dv = 512, .threads = 256}, 0.3},
    {"two_float_32", "2x2 scores and two rows of O in each thread's registers: an element that is read is used twice", true, false,
     {.algorithm = Algorithm::two_float, .bm = 32, .bn = 32, .d = 128, .dv = 128, .threads = 256}, 0.5},
    {"register_rows_64", "8x4 scores and 8x4 of O in each thread's registers: an element that is read is used 4 or 8 times", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 64, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 8, .blocks_per_sm = 3, .transposed = false}, 0.2, Role::lesson},
    {"register_64", "Q and K transposed in shared memory: 32 multiply-adds for 3 reads of 16 bytes, without bank conflicts", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 64, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 8, .blocks_per_sm = 3}, 0.45},
    {"register_64_square", "128 queries: 8x8 scores and 8x8 of O in a thread's registers, 64 multiply-adds for 4 reads", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 128, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 8, .blocks_per_sm = 2}, 0.5},
    {"register_128", "the same for wider heads", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 128, .bn = 64, .d = 128, .dv = 128, .threads = 256, .rows = 8}, 0.45},
    {"register_256", "and for the widest", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 64, .bn = 64, .d = 256, .dv = 256, .threads = 256, .rows = 4}, 0.4},
    {"register_split_64", "split-KV: 32 queries, and parts of the keys, for problems of few tiles", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 32, .bn = 64, .d = 64, .dv = 64, .threads = 64, .rows = 4, .split = true, .blocks_per_sm = 4}, 0.35},
    {"register_split_128", "the same for wider heads", true, false,
     {.algorithm = Algorithm::register_tile, .bm = 32, .bn = 64, .d = 128, .dv = 128, .threads = 128, .rows = 4, .split = true, .blocks_per_sm = 2}, 0.35},
    {"mma_64", "tensor cores from Ampere on: 32 queries of each warp, whose scores never leave its registers", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 128, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 32, .blocks_per_sm = 2}, 0.2},
    {"mma_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 128, .bn = 64, .d = 128, .dv = 128, .threads = 128, .rows = 32, .blocks_per_sm = 2}, 0.2},
    {"mma_256", "and for the widest", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 64, .bn = 64, .d = 256, .dv = 256, .threads = 128, .rows = 16}, 0.15},
    {"wgmma_alone_128", "Hopper's tensor cores read shared memory, which TMA fills: the next tile is in flight", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 128, .dv = 128, .threads = 256, .schedule = Schedule::alone}, 0.56, Role::lesson},
    {"wgmma_turns_128", "warp specialization: a producer, and two consumers in ping-pong, one's exponentials beside the other's products", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 128, .dv = 128, .threads = 384, .schedule = Schedule::ping_pong}, 0.67, Role::lesson},
    {"wgmma_64", "exponentials beside a consumer's own products too, O rescaled where a maximum rises; three consumers of 64 queries", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 192, .bn = 128, .d = 64, .dv = 64, .threads = 512}, 0.54},
    {"wgmma_64_pair", "two consumers: a tile of 128 queries, for short sequences", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 64, .dv = 64, .threads = 384}, 0.5},
    {"wgmma_64_short", "four consumers, and half as many keys at a time: less is wasted at the edges of masks, and with few keys", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 256, .bn = 64, .d = 64, .dv = 64, .threads = 640, .stages = 4}, 0.49},
    {"wgmma_64_small", "one consumer, and three blocks on a multiprocessor, which wait for their loads and stores in turns: for few tiles", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 64, .bn = 64, .d = 64, .dv = 64, .threads = 256, .blocks_per_sm = 3}, 0.43},
    {"wgmma_96", "the same for heads of 72 to 96 columns: products of the last panel read only the existing columns", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 96, .dv = 96, .threads = 384}, 0.65},
    {"wgmma_128", "the same for wider heads, with two consumers", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 128, .dv = 128, .threads = 384}, 0.7},
    {"wgmma_128_small", "one consumer, and two blocks on a multiprocessor", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 64, .bn = 64, .d = 128, .dv = 128, .threads = 256, .blocks_per_sm = 2}, 0.6},
    {"wgmma_192", "and for wider Q and K alone", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 192, .dv = 128, .threads = 384}, 0.6},
    {"wgmma_192_wide", "and where V is as wide", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 96, .d = 192, .dv = 192, .threads = 384}, 0.64},
    {"wgmma_256", "and for the widest", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 64, .d = 256, .dv = 256, .threads = 384}, 0.67},
    {"wgmma_bf16x6_64", "float32 on Hopper's tensor cores: each number is split into three bf16 components, and six products are computed", true, false,
     {.algorithm = Algorithm::wgmma_terms, .bm = 128, .bn = 64, .d = 64, .dv = 64, .threads = 384, .stages = 6}, 0.62},
    {"wgmma_bf16x6_128", "the same for wider heads", true, false,
     {.algorithm = Algorithm::wgmma_terms, .bm = 128, .bn = 64, .d = 128, .dv = 128, .threads = 384, .stages = 5}, 0.56},
    {"wgmma_split_64", "split-KV for as many queries as fill tiles, which are too few for the device: a consumer stores its part of O from registers", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 64, .dv = 64, .threads = 384, .split = true}, 0.5},
    {"wgmma_split_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 128, .d = 128, .dv = 128, .threads = 384, .split = true}, 0.7},
    {"wgmma_split_256", "and for the widest", false, true,
     {.algorithm = Algorithm::wgmma, .bm = 128, .bn = 64, .d = 256, .dv = 256, .threads = 384, .split = true}, 0.67},
    {"split_64", "split-KV: heads that share keys share a block, and blocks take parts of the keys: few queries fill the device", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 32, .bn = 64, .d = 64, .dv = 64, .threads = 64, .rows = 16, .split = true, .packed = true, .blocks_per_sm = 6}, 0.07},
    {"split_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 32, .bn = 64, .d = 128, .dv = 128, .threads = 64, .rows = 16, .split = true, .packed = true, .blocks_per_sm = 3}, 0.07},
    {"split_256", "and for the widest", false, true,
     {.algorithm = Algorithm::mma_sync, .bm = 32, .bn = 64, .d = 256, .dv = 256, .threads = 64, .rows = 16, .split = true, .packed = true}, 0.07},
    {"decode_64", "up to 16 rows of a group of heads: warps share the keys, each with its own pipeline that TMA fills", false, true,
     {.algorithm = Algorithm::decode, .bm = 16, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 16, .split = true, .packed = true, .stages = 3}, 0.25},
    {"decode_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::decode, .bm = 16, .bn = 32, .d = 128, .dv = 128, .threads = 128, .rows = 16, .split = true, .packed = true, .stages = 3}, 0.25},
    {"decode_256", "and for the widest", false, true,
     {.algorithm = Algorithm::decode, .bm = 16, .bn = 16, .d = 256, .dv = 256, .threads = 128, .rows = 16, .split = true, .packed = true, .stages = 3}, 0.25},
    {"decode_one_64", "one query, 8 heads at a time: short code, a producer warp, and the last block merges the splits", false, true,
     {.algorithm = Algorithm::decode_one, .bm = 8, .bn = 64, .d = 64, .dv = 64, .threads = 160, .split = true, .packed = true, .blocks_per_sm = 4, .stages = 3}, 0.25},
    {"decode_one_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::decode_one, .bm = 8, .bn = 32, .d = 128, .dv = 128, .threads = 160, .split = true, .packed = true, .blocks_per_sm = 3, .stages = 3}, 0.25},
    {"decode_one_256", "and for the widest", false, true,
     {.algorithm = Algorithm::decode_one, .bm = 8, .bn = 16, .d = 256, .dv = 256, .threads = 160, .split = true, .packed = true, .blocks_per_sm = 2, .stages = 2}, 0.25},
    {"gradient_64", "gradients with tiles in registers: a block owns queries or keys, and no sum has two writers", true, true,
     {.algorithm = Algorithm::gradient_tile, .bm = 64, .bn = 64, .d = 64, .dv = 64, .threads = 128, .rows = 8, .blocks_per_sm = 2}, 0.3},
    {"gradient_128", "the same for wider heads", true, false,
     {.algorithm = Algorithm::gradient_tile, .bm = 64, .bn = 64, .d = 128, .dv = 128, .threads = 256, .rows = 4}, 0.3},
    {"gradient_256", "and for the widest", true, false,
     {.algorithm = Algorithm::gradient_tile, .bm = 32, .bn = 32, .d = 256, .dv = 256, .threads = 128, .rows = 4}, 0.2},
    {"mma_gradient_64", "gradients on tensor cores from Ampere on: a warp has the sums of its own 32 rows, queries or keys", false, true,
     {.algorithm = Algorithm::mma_gradient, .bm = 128, .bn = 32, .d = 64, .dv = 64, .threads = 128, .rows = 32, .blocks_per_sm = 2}, 0.2},
    {"mma_gradient_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::mma_gradient, .bm = 128, .bn = 32, .d = 128, .dv = 128, .threads = 128, .rows = 32, .blocks_per_sm = 2}, 0.23},
    {"mma_gradient_256", "and for the widest", false, true,
     {.algorithm = Algorithm::mma_gradient, .bm = 64, .bn = 32, .d = 256, .dv = 256, .threads = 128, .rows = 16}, 0.115},
    {"short_gradient_64", "all keys and queries of a head in one block, up to 128: one kernel for all gradients, and no sum leaves the block", false, true,
     {.algorithm = Algorithm::short_gradient, .bm = 128, .bn = 128, .d = 64, .dv = 64, .threads = 256, .rows = 16, .blocks_per_sm = 2}, 0.25},
    {"short_gradient_64_long", "up to 208 keys and 224 queries, a block on each multiprocessor", false, true,
     {.algorithm = Algorithm::short_gradient, .bm = 208, .bn = 224, .d = 64, .dv = 64, .threads = 416, .rows = 16}, 0.25},
    {"short_gradient_128", "128 of each for wider heads", false, true,
     {.algorithm = Algorithm::short_gradient, .bm = 128, .bn = 128, .d = 128, .dv = 128, .threads = 256, .rows = 16}, 0.25},
    {"wgmma_gradient_64", "gradients on Hopper's tensor cores: a block owns keys, and adds to dQ in their order", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 128, .bn = 128, .d = 64, .dv = 64, .threads = 384}, 0.36},
    {"wgmma_gradient_96", "the same for heads of 72 to 96 columns: products of the last panel read only the existing columns", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 128, .bn = 64, .d = 96, .dv = 96, .threads = 384}, 0.43},
    {"wgmma_gradient_128", "the same for wider heads", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 128, .bn = 64, .d = 128, .dv = 128, .threads = 384}, 0.45},
    {"wgmma_gradient_256", "and for the widest: one consumer has dV, another dK, and a third dQ, which reads dS from shared memory", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 64, .bn = 64, .d = 256, .dv = 256, .threads = 512}, 0.4},
    {"wgmma_gradient_64_mask", "with a mask tensor: TMA loads tiles, which are transposed on the way to registers", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 128, .bn = 128, .d = 64, .dv = 64, .threads = 384, .masks = true}, 0.3},
    {"wgmma_gradient_128_mask", "the same for wider heads", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 128, .bn = 64, .d = 128, .dv = 128, .threads = 384, .masks = true}, 0.38},
    {"wgmma_gradient_256_mask", "and for the widest", false, true,
     {.algorithm = Algorithm::wgmma_gradient, .bm = 64, .bn = 64, .d = 256, .dv = 256, .threads = 512, .masks = true}, 0.4},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Whether the row has a kernel for this element type.
constexpr bool is_instantiated(const Variant& row, DType dtype) {
  return dtype == f32 ? row.f32 : row.f16 && (dtype == bf16 || !is_step(row.config));
}

}  // namespace ridge::attention_detail
