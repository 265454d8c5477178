// Tensor cores fed from registers (mma.sync), from Ampere on: f64, f16, bf16, float32 as TF32, signed bytes along k,
// and from Ada on 8-bit floats along k.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>

namespace ridge::gemm_kernels {

// A warp has a tile of D of wm x wn.
constexpr int mma_threads(const Config& c) { return c.bm / c.wm * (c.bn / c.wn) * 32; }

// k of one fragment: 32 bytes. For doubles, registers hold k = 8 only if the warp's tile is small.
constexpr int mma_fragment_k(const Config& c, DType dtype) {
  return dtype != DType::f64 ? 32 / static_cast<int>(size_of(dtype)) : c.wm * c.wn > 32 * 32 ? 4 : 8;
}
// Whether a type is read along k only: no instruction transposes bytes.
constexpr bool mma_reads_along_k(DType dtype) { return size_of(dtype) == 1; }
// What Loads::pieces adds to a tile: a piece to each row, and two to rows of floats along M or N. The larger of both
// layouts, as a launch is sized without one.
constexpr int mma_piece_bytes(int outer, int bk, DType dtype) {
  return access_bytes * std::max(outer, dtype == DType::f32 ? 2 * bk : bk);
}
// Bytes of a stage; and the pitch at which the sums of 16 rows of a warp's tile pass to the epilogue: 8 banks from row
// to row for pairs of float, 16 for pairs of double.
constexpr int mma_stage_bytes(const Config& c, DType dtype) {
  const int pads = c.loads != Loads::pieces ? 0
                                            : mma_piece_bytes(c.bm, c.bk, dtype) +
                                                  c.bn / columns(c) * mma_piece_bytes(columns(c), c.bk, dtype);
  return (c.bm + c.bn) * c.bk * static_cast<int>(size_of(dtype)) + pads;
}
inline constexpr int mma_rows = 16;
constexpr int mma_epilogue_pitch(const Config& c) { return c.wn + 8; }
constexpr int mma_smem_bytes(const Config& c, DType dtype) {
  const int warp = mma_rows * mma_epilogue_pitch(c) * staged_bytes(dtype);
  return std::max(c.stages * mma_stage_bytes(c, dtype), mma_threads(c) / 32 * warp);
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::mma_sync {

// ---- fits

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if ((p.dtype == f8e4m3 || p.dtype == f8e5m2) && device.cc < 89)
    return "tensor cores of 8-bit floats are of compute capability 8.9 and later";
  if (std::string why = refuse_launch(c, p, mma_smem_bytes(c, p.dtype), device); !why.empty()) return why;
  return refuse_operands(c, p, mma_reads_along_k(p.dtype));
}

// ---- footprint and model

// Share of Hopper's rates that mma.sync reaches instead of wgmma: 16-bit types and TF32, and signed bytes (8-bit floats
// are taken to be as these). The rates of 10.0 are those of instructions with twice wgmma's; GeForce's are mma.sync's.
inline constexpr double hopper_share = 0.45, hopper_share_of_bytes = 0.24;
inline double share_of_mma(DType dtype, const DeviceInfo& device) {
  if (dtype == f64 || (device.cc != 90 && device.cc != 100)) return 1;
  const double share = size_of(dtype) == 1 ? hopper_share_of_bytes : hopper_share;
  return device.cc == 90 ? share : share / 2;
}
// Clocks of a scheduler for a warp's 32 elements as TF32: rounding them; and reading them one by one, from swizzled
// tiles where they do not lie along k, or from rows that keep their offsets. Of the last, an H200 with copies by edges.
inline constexpr double round_clocks = 4, single_read_clocks = 32, piece_read_clocks = 14;
inline constexpr double efficiency = 0.9;    // share of the tensor cores' rate that warps reach that also read and copy
inline constexpr double tile_clocks = 5000;  // a block's start, first loads from memory and epilogue, as for wgmma
inline constexpr double shifted_clocks = 2000;    // minimum for a step of 64 x 64: a read of memory. H100, few rows.
inline constexpr double shift_instructions = 80;  // per thread, for 16 bytes of an unaligned row, in all
// Wavefronts for 32 words of a fragment from rows that keep their offsets: reads that may meet in a bank, and two of
// them for a pair of 16-bit elements, and what else the latter take; H200.
inline constexpr double piece_wavefronts = 1.5, piece_wavefronts_of_pairs = 5;
// Threads that copy keep all stages but one in flight: the latency of these copies. Measured on an H100 with few rows.
inline constexpr double copies_late_us = 1.1;

// Clocks of a multiprocessor per element of D in the epilogue. Measured on an H100 with short k.
inline double finish_clocks(const GemmProblem& p) {
  return 0.25 + 0.1 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.1);
}

// Clocks of one step of bk.
inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const DType dtype = p.dtype;
  const double warps = mma_threads(c) / 32.0, bytes = c.bk * static_cast<double>(size_of(dtype));
  const double share = efficiency * share_of_mma(dtype, device);
  const double multiply = static_cast<double>(c.bm) * c.bn * c.bk / (tensor_products_per_clock(dtype, device) * share);
  // Shared memory moves 128 bytes a clock: the warps' reads and the copies.
  const bool pieces = c.loads == Loads::pieces;
  const double wavefronts = !pieces ? 1 : size_of(dtype) == 2 ? piece_wavefronts_of_pairs : piece_wavefronts;
  const double shared = (warps * (c.wm + c.wn) * wavefronts + c.bm + c.bn) * bytes / 128;
  // Unaligned rows: doubles are copied one by one, 16-bit elements through registers, a step ahead.
  const bool shifts = c.loads == Loads::elements && size_of(dtype) == 2;
  const double copies = (c.bm + c.bn) * bytes / (c.loads == Loads::elements && dtype == f64 ? 8 : access_bytes);
  const double issue = copies * (shifts ? shift_instructions : 2) / (32 * schedulers);
  double rounding = 0;
  if (dtype == f32) {
    const auto clocks_of = [&](int edge, Major major) {
      return edge * (round_clocks + (pieces ? piece_read_clocks : major == Major::k ? 0 : single_read_clocks));
    };
    rounding = (clocks_of(c.wm, major_of_a(p)) + clocks_of(c.wn, major_of_b(p))) * c.bk / 32 * warps / schedulers;
  }
  Step step = longest({{multiply, "warps that feed the tensor cores"},
                       {shared, "shared memory"},
                       {issue, "copies"},
                       {rounding, "rounding to TF32"}});
  if (c.promote > 0) step.clocks += static_cast<double>(c.bm) * c.bn / (32 * schedulers) / c.promote;
  step.clocks += barrier_clocks / resident;
  // Shifted operands are read only one step ahead, and a block has nothing to do meanwhile.
  if (shifts) step.clocks = std::max(step.clocks, shifted_clocks * (c.bm + c.bn) / 128);
  return step;
}

inline double memory_us(const Config& c, const GemmProblem& p, double us, double blocks) {
  const double rows = static_cast<double>(std::min<std::int64_t>(c.bm, p.m) + std::min<std::int64_t>(c.bn, p.n));
  // Elements, of all tiles and under way. Tiles of the same columns read the same weights.
  const double tiles = static_cast<double>(tiles_of(c, p)) * static_cast<double>(p.grouped ? 1 : p.batch);
  const double read = tiles * rows * static_cast<double>(products(p)),
               under_way = blocks * (c.stages - 1) * rows * c.bk;
  return std::max(us / copies_share, read / under_way * copies_late_us);
}

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  const int threads = mma_threads(c);
  return {.threads = threads,
          .registers = registers_of(c, threads),
          .smem = mma_smem_bytes(c, p.dtype),
          .tiles = tiles_of(c, p),
          .columns = columns(c),
          .step = c.bk,
          .trip_bytes = stages_bytes(c, p),
          .resident = c.blocks_per_sm,
          .tensor_cores = true,
          .per_clock = tensor_products_per_clock(p.dtype, device),
          .start_clocks = tile_clocks,
          .finish_clocks = finish_clocks(p),
          .step_of = step_of,
          .memory_us = memory_us};
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr KernelFamily family = block_per_tile_and_slice<fits, block_of, lesson>;

}  // namespace ridge::gemm_detail::mma_sync
