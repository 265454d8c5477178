// The table of GEMM kernels. What a Config says, and the facts that follow from it, are in config.hpp.
#pragma once
#include <ridge/gemm/config.hpp>
#include <ridge/gemm/gemm.hpp>

namespace ridge::gemm_detail {

using namespace gemm_kernels;

// Types of A and B.
struct DTypes {
  unsigned bits = 0;
  constexpr DTypes(std::initializer_list<DType> list) {
    for (DType dtype : list) bits |= 1u << static_cast<int>(dtype);
  }
  constexpr bool contains(DType dtype) const { return bits >> static_cast<int>(dtype) & 1; }
};
inline constexpr DTypes any_type{f64, f32, f16, bf16, f8e4m3, f8e5m2, i8};

struct Variant {
  std::string_view name, step;
  DTypes types;  // instantiated for these
  Config config;
  bool nn_only = false;             // a step that is shown in one layout
  GemmMath math = GemmMath::exact;  // what has to be asked for
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per element of D, operands from global memory", any_type,
     {.family = Family::naive, .bm = 16, .bn = 16}},
    {"block_32", "32x32 tiles in shared memory: an element that is read is used 32 times", any_type,
     {.family = Family::shared, .bm = 32, .bn = 32, .bk = 32}},
    {"thread_8x8", "128x128 tiles, 8x8 of D in each thread's registers: 64 multiply-adds for 16 reads of shared memory", any_type,
     {.loads = Loads::strided}},
    {"vec4", "16-byte reads of global memory", {f32}, {}, true},
    {"conflict_free", "padded tiles and interleaved lanes: no bank conflicts", {f32}, {.conflict_free = true}, true},
    {"double_buffer", "the next tiles travel to registers while these are used; one barrier instead of two", {f32},
     {.pipeline = Pipeline::double_buffer, .conflict_free = true, .blocks_per_sm = 2}},
    {"async", "three stages of asynchronous copies past the registers", {f32},
     {.bk = 16, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 2}},
    {"async_128x256", "16x8 of D in each thread: 128 multiply-adds for 24 reads", {f32},
     {.bn = 256, .bk = 16, .tm = 16, .pipeline = Pipeline::multistage, .stages = 4, .conflict_free = true}},
    {"async_64x64", "small tiles, for small matrices", {f32},
     {.bm = 64, .bn = 64, .bk = 16, .tn = 4, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 4}},
    {"async_unaligned", "element by element: rows that start anywhere", {f32},
     {.bk = 16, .loads = Loads::elements, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 2}},
    {"async_unaligned_64x64", "small tiles, rows that start anywhere", {f32},
     {.bm = 64, .bn = 64, .bk = 16, .tn = 4, .loads = Loads::elements, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 4}},
    {"tma_128x128", "TMA brings tiles as they lie; multiply-adds that read a register of either bank", {f32},
     {.family = Family::tma_tile, .bk = 32, .tm = 16, .stages = 3, .blocks_per_sm = 2}},
    {"tma_128x64", "four groups of warps that have every fourth step each: a tile for each multiprocessor", {f32},
     {.family = Family::tma_tile, .bn = 64, .bk = 32, .tm = 16, .stages = 8, .k_groups = 4}},
    {"tma_64x64", "small tiles, for small matrices", {f32},
     {.family = Family::tma_tile, .bm = 64, .bn = 64, .bk = 32, .stages = 8, .k_groups = 4}},
    {"f64_128x64", "asynchronous copies, 8x4 of D in each thread", {f64},
     {.bn = 64, .bk = 16, .tn = 4, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true}},
    {"f64_unaligned", "the same for rows that start anywhere", {f64},
     {.bn = 64, .bk = 16, .tn = 4, .loads = Loads::elements, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true}},
    {"widened", "16-bit floats, widened to float32 on their way to shared memory", {f16, bf16},
     {.bk = 16, .pipeline = Pipeline::double_buffer, .conflict_free = true}},
    {"dmma", "tensor cores of double precision: 64x32 of D in each warp's registers, four stages of copies", {f64},
     {.family = Family::mma_sync, .bk = 16, .stages = 4}},
    {"dmma_64x64", "small tiles, for small matrices", {f64},
     {.family = Family::mma_sync, .bm = 64, .bn = 64, .bk = 16, .wm = 32, .stages = 4, .blocks_per_sm = 2}},
    {"dmma_unaligned", "copies of single elements: rows that start anywhere", {f64},
     {.family = Family::mma_sync, .bk = 16, .loads = Loads::elements, .stages = 4}},
    {"wmma", "tensor cores by WMMA: 32x32 of D in each warp's fragments of 16x16, one buffer", {f16, bf16},
     {.family = Family::wmma, .bm = 64, .bn = 64, .bk = 16, .wm = 32}, true},
    {"mma", "tensor cores from Ampere on: 64x64 of D in each warp's registers, four stages of copies", {f16, bf16},
     {.family = Family::mma_sync, .bk = 32, .wn = 64, .stages = 4, .blocks_per_sm = 2}},
    {"mma_64x64", "small tiles, for small matrices", {f16, bf16},
     {.family = Family::mma_sync, .bm = 64, .bn = 64, .bk = 32, .wm = 32, .stages = 4, .blocks_per_sm = 3}},
    {"mma_unaligned", "rows that start anywhere: aligned reads, shifted into place on their way to shared memory", {f16, bf16},
     {.family = Family::mma_sync, .bk = 32, .loads = Loads::elements, .stages = 2}},
    {"tf32_mma", "float32 as TF32, rounded on its way from shared memory", {f32},
     {.family = Family::mma_sync, .bk = 16, .wn = 64, .stages = 4, .blocks_per_sm = 2}, false, GemmMath::tf32},
    {"tf32_mma_64x64", "small tiles, for small matrices", {f32},
     {.family = Family::mma_sync, .bm = 64, .bn = 64, .bk = 16, .wm = 32, .stages = 4, .blocks_per_sm = 3}, false, GemmMath::tf32},
    {"i8_mma", "signed bytes along k", {i8},
     {.family = Family::mma_sync, .bk = 64, .wn = 64, .stages = 4, .blocks_per_sm = 2}},
    {"i8_mma_64x64", "small tiles, for small matrices", {i8},
     {.family = Family::mma_sync, .bm = 64, .bn = 64, .bk = 64, .wm = 32, .stages = 4, .blocks_per_sm = 3}},
    {"wgmma_tma", "Hopper's tensor cores, which read shared memory; a copy engine brings the tiles", {f16, bf16},
     {.family = Family::wgmma, .bk = 64, .blocks_per_sm = 2, .schedule = Schedule::one}, true},
    {"specialised", "a warp only loads, up to 4 steps ahead of two warpgroups that multiply 128x256 tiles", {f16, bf16},
     {.family = Family::wgmma, .bn = 256, .bk = 64, .stages = 4, .schedule = Schedule::cooperative}, true},
    {"persistent", "blocks stay and take tiles: the next one's loads go on while this one is stored", {f16, bf16},
     {.family = Family::wgmma, .bn = 256, .bk = 64, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .band = 16}},
    {"multicast", "clusters of two blocks load their common columns of B once", {f16, bf16},
     {.family = Family::wgmma, .bn = 256, .bk = 64, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .cluster = 2}},
    {"ping_pong", "the warpgroups have tiles of their own: one stores while the other multiplies", {f16, bf16},
     {.family = Family::wgmma, .bk = 64, .stages = 6, .schedule = Schedule::ping_pong, .persistent = true, .cluster = 2}},
    {"ping_pong_128x192", "larger tiles: fewer reads of shared memory, and other waves", {f16, bf16},
     {.family = Family::wgmma, .bn = 192, .bk = 64, .stages = 4, .schedule = Schedule::ping_pong, .persistent = true, .band = 16}},
    {"wgmma_64x128", "small tiles and many stages, where they are one wave", {f16, bf16},
     {.family = Family::wgmma, .bm = 64, .bk = 64, .stages = 6, .schedule = Schedule::cooperative, .persistent = true, .band = 16}},
    {"wgmma_64x128_pairs", "clusters of two load their common columns of B once: for rows that TMA is slow to read", {f16, bf16},
     {.family = Family::wgmma, .bm = 64, .bk = 64, .stages = 6, .schedule = Schedule::cooperative, .persistent = true, .cluster = 2, .band = 16}},
    {"narrow_16", "64x16 tiles for few rows or columns; a cluster's blocks share the products of a tile", {f16, bf16},
     {.family = Family::wgmma_split, .bm = 64, .bn = 16, .bk = 64, .stages = 9, .blocks_per_sm = 2}},
    {"narrow_32", "the same with 64x32", {f16, bf16},
     {.family = Family::wgmma_split, .bm = 64, .bn = 32, .bk = 64, .stages = 7, .blocks_per_sm = 2}},
    {"narrow_64", "the same with 64x64", {f16, bf16},
     {.family = Family::wgmma_split, .bm = 64, .bn = 64, .bk = 64, .stages = 13}},
    {"split_64x128", "the same with 64x128", {f16, bf16},
     {.family = Family::wgmma_split, .bm = 64, .bn = 128, .bk = 64, .stages = 8}},
    {"split_128x128", "the same with 128x128, for fewer tiles than multiprocessors", {f16, bf16},
     {.family = Family::wgmma_split, .bm = 128, .bn = 128, .bk = 64, .stages = 6}},
    {"tf32", "float32 as TF32 on tensor cores; operands along M or N are turned first", {f32},
     {.family = Family::wgmma, .bn = 256, .bk = 32, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .cluster = 2},
     false, GemmMath::tf32},
    {"tf32_narrow_16", "`narrow_16` of TF32", {f32},
     {.family = Family::wgmma_split, .bm = 64, .bn = 16, .bk = 32, .stages = 9, .blocks_per_sm = 2}, false, GemmMath::tf32},
    {"tf32_narrow_64", "`narrow_64` of TF32", {f32},
     {.family = Family::wgmma_split, .bm = 64, .bn = 64, .bk = 32, .stages = 13}, false, GemmMath::tf32},
    {"tf32_split", "`split_128x128` of TF32", {f32},
     {.family = Family::wgmma_split, .bm = 128, .bn = 128, .bk = 32, .stages = 6}, false, GemmMath::tf32},
    {"tf32x3", "three products of high and low parts, every 256 of k added up in float32", {f32},
     {.family = Family::wgmma, .bn = 192, .bk = 32, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .band = 16, .promote = 8},
     false, GemmMath::tf32x3},
    {"fp8", "tensor cores of 8-bit floats, every 128 of k added up in float32", {f8e4m3, f8e5m2},
     {.family = Family::wgmma, .bk = 128, .stages = 6, .schedule = Schedule::cooperative, .persistent = true, .band = 16, .promote = 1}},
    {"fp8_narrow_16", "`narrow_16` of 8-bit floats, every 128 of k added up in float32", {f8e4m3, f8e5m2},
     {.family = Family::wgmma_split, .bm = 64, .bn = 16, .bk = 128, .stages = 9, .blocks_per_sm = 2, .promote = 1}},
    {"fp8_narrow_64", "`narrow_64` of the same", {f8e4m3, f8e5m2},
     {.family = Family::wgmma_split, .bm = 64, .bn = 64, .bk = 128, .stages = 13, .promote = 1}},
    {"fp8_split", "`split_128x128` of the same", {f8e4m3, f8e5m2},
     {.family = Family::wgmma_split, .bm = 128, .bn = 128, .bk = 128, .stages = 6, .promote = 1}},
    {"fp8_fast", "128x256 tiles, whose sums stay in the tensor cores", {f8e4m3, f8e5m2},
     {.family = Family::wgmma, .bn = 256, .bk = 128, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .cluster = 2},
     false, GemmMath::fast},
    {"fp8_fast_ping_pong", "the warpgroups have 128x128 tiles of their own", {f8e4m3, f8e5m2},
     {.family = Family::wgmma, .bk = 128, .stages = 6, .schedule = Schedule::ping_pong, .persistent = true, .cluster = 2},
     false, GemmMath::fast},
    {"i8_ping_pong", "tensor cores of signed bytes; the warpgroups have 128x128 tiles of their own", {i8},
     {.family = Family::wgmma, .bk = 128, .stages = 6, .schedule = Schedule::ping_pong, .persistent = true, .cluster = 2}},
    {"i8_narrow_16", "`narrow_16` of signed bytes, whose sums stay integers", {i8},
     {.family = Family::wgmma_split, .bm = 64, .bn = 16, .bk = 128, .stages = 9, .blocks_per_sm = 2}},
    {"i8_narrow_64", "`narrow_64` of the same", {i8},
     {.family = Family::wgmma_split, .bm = 64, .bn = 64, .bk = 128, .stages = 13}},
    {"i8_split", "`split_128x128` of the same", {i8},
     {.family = Family::wgmma_split, .bm = 128, .bn = 128, .bk = 128, .stages = 6}},
    {"gate_mma", "tensor cores from Ampere on: half of a warp's columns are of A B, and half the same ones of A G", {f16, bf16},
     {.family = Family::mma_sync, .bk = 32, .wn = 64, .stages = 4, .blocks_per_sm = 2, .gated = true}},
    {"gate_wgmma", "128 columns of A B and the same 128 of A G are one tile: a thread holds both sums of an element", {f16, bf16},
     {.family = Family::wgmma, .bn = 256, .bk = 64, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .band = 16, .gated = true}},
    {"grouped_mma", "tensor cores from Ampere on: a block finds its group and tile from the offsets", {f16, bf16},
     {.family = Family::mma_sync, .bk = 32, .wn = 64, .stages = 4, .blocks_per_sm = 2, .grouped = true}},
    {"grouped_wgmma", "groups of rows, a B for each: persistent blocks walk through all groups' tiles", {f16, bf16},
     {.family = Family::wgmma, .bn = 256, .bk = 64, .stages = 4, .schedule = Schedule::cooperative, .persistent = true, .band = 16, .grouped = true}},
    {"dp4a", "four products of signed bytes in one instruction", {i8},
     {.bk = 32, .pipeline = Pipeline::double_buffer, .conflict_free = true, .blocks_per_sm = 2}},
    {"gate_naive", "two operands B and G: a thread per element of D", {f64, f32, f16, bf16},
     {.family = Family::naive, .bm = 16, .bn = 16, .gated = true}},
    {"gate_8x8", "64 columns of A B and the same 64 of A G are one tile, whose halves meet on their way to D", {f64, f32, f16, bf16},
     {.loads = Loads::strided, .gated = true}},
    {"gate_async", "the same by three stages of asynchronous copies", {f32},
     {.bk = 16, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 2, .gated = true}},
    {"gate_widened", "the same of 16-bit floats, widened to float32 on their way to shared memory", {f16, bf16},
     {.bk = 16, .pipeline = Pipeline::double_buffer, .conflict_free = true, .gated = true}},
    {"grouped_8x8", "groups of rows, a B for each: a block finds its group and tile from the offsets", {f64, f32, f16, bf16},
     {.loads = Loads::strided, .grouped = true}},
    {"grouped_async", "the same by three stages of asynchronous copies", {f32},
     {.bk = 16, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 2, .grouped = true}},
    {"grouped_async_64x64", "small tiles, for small groups", {f32},
     {.bm = 64, .bn = 64, .bk = 16, .tn = 4, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true, .blocks_per_sm = 4, .grouped = true}},
    {"grouped_widened", "16-bit floats, widened to float32 on their way to shared memory", {f16, bf16},
     {.bk = 16, .pipeline = Pipeline::double_buffer, .conflict_free = true, .grouped = true}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

}  // namespace ridge::gemm_detail
