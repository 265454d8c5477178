// Tensor cores fed from registers (mma.sync), from Ampere on: f64, f16, bf16, float32 as TF32, and signed bytes along
// k.
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
// Bytes of a stage; and the pitch at which the sums of 16 rows of a warp's tile pass to the epilogue: 8 banks from row
// to row for pairs of float, 16 for pairs of double.
constexpr int mma_stage_bytes(const Config& c, DType dtype) {
  return (c.bm + c.bn) * c.bk * static_cast<int>(size_of(dtype));
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
  if (std::string why = refuse_launch(c, p, mma_smem_bytes(c, p.dtype), device); !why.empty()) return why;
  return refuse_operands(c, p, mma_reads_along_k(p.dtype));
}

// ---- footprint and model

// Share of Hopper's rates that mma.sync reaches instead of wgmma: 16-bit types and TF32, and signed bytes.
inline constexpr double hopper_share = 0.45, hopper_share_of_bytes = 0.24;
// Clocks of a scheduler: rounding a warp's 32 elements to TF32, and the extra cost of reading them one by one, not
// along k.
inline constexpr double round_clocks = 11, single_read_clocks = 32;
inline constexpr double efficiency = 0.9;    // share of the tensor cores' rate that warps reach that also read and copy
inline constexpr double tile_clocks = 5000;  // a block's start, first loads from memory and epilogue, as for wgmma
inline constexpr double shifted_clocks = 2000;    // minimum for a step of 64 x 64: a read of memory. H100, few rows.
inline constexpr double shift_instructions = 80;  // per thread, for 16 bytes of an unaligned row, in all
// Clocks of a multiprocessor for a warp's asynchronous copy of 32 single floats of a row, which span two lines. An H200
// takes 10 with tiles of 32 rows, and 17 of 64.
inline constexpr double single_floats_clocks = 17;
// Threads that copy keep all stages but one in flight: the latency of these copies. Measured on an H100 with few rows.
inline constexpr double copies_late_us = 1.1;

// Clocks of a multiprocessor per element of D in the epilogue. Measured on an H100 with short k.
inline double finish_clocks(const GemmProblem& p) {
  return 0.25 + 0.1 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.1);
}

// Rows and columns of a tile whose floats are copied one by one; those outside the matrix are not read. A gate is taken
// to be aligned as B is.
inline std::int64_t single_edges(const Config& c, const GemmProblem& p) {
  if (c.loads == Loads::vectors || p.dtype != f32) return 0;
  const std::int64_t pitch_a = major_of_a(p) == Major::k ? p.a->row_stride : p.a->col_stride,
                     pitch_b = major_of_b(p) == Major::k ? p.b->col_stride : p.b->row_stride;
  return (starts_on(*p.a, pitch_a, access_bytes) ? 0 : std::min<std::int64_t>(c.bm, p.m)) +
         (starts_on(*p.b, pitch_b, access_bytes) ? 0 : std::min<std::int64_t>(c.bn, p.n));
}

// Clocks of one step of bk.
inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const DType dtype = p.dtype;
  const double warps = mma_threads(c) / 32.0, bytes = c.bk * static_cast<double>(size_of(dtype));
  const double share = efficiency * (device.cc != 90 || dtype == f64 ? 1
                                     : dtype == i8                   ? hopper_share_of_bytes
                                                                     : hopper_share);
  const double multiply = static_cast<double>(c.bm) * c.bn * c.bk / (tensor_products_per_clock(dtype, device) * share);
  // Shared memory moves 128 bytes a clock: the warps' reads and the copies.
  const double shared = (warps * (c.wm + c.wn) + c.bm + c.bn) * bytes / 128;
  // Unaligned rows: floats and doubles are copied one by one, 16-bit elements through registers, a step ahead.
  const bool shifts = c.loads == Loads::elements && size_of(dtype) == 2;
  const double copies = (c.bm + c.bn) * bytes / (c.loads == Loads::elements && dtype == f64 ? 8 : access_bytes);
  const double issue = copies * (shifts ? shift_instructions : 2) / (32 * schedulers);
  double rounding = 0;
  if (dtype == f32) {
    const auto clocks_of = [&](int edge, Major major) {
      return edge * (round_clocks + (major == Major::k ? 0 : single_read_clocks));
    };
    rounding = (clocks_of(c.wm, major_of_a(p)) + clocks_of(c.wn, major_of_b(p))) * c.bk / 32 * warps / schedulers;
  }
  Step step = longest(
      {{multiply, "warps that feed the tensor cores"},
       {shared, "shared memory"},
       {issue, "copies"},
       {static_cast<double>(single_edges(c, p) * c.bk) / 32 * single_floats_clocks, "copies of single elements"},
       {rounding, "rounding to TF32"}});
  step.clocks += barrier_clocks / resident;
  // Shifted operands are read only one step ahead, and a block has nothing to do meanwhile.
  if (shifts) step.clocks = std::max(step.clocks, shifted_clocks * (c.bm + c.bn) / 128);
  return step;
}

inline double memory_us(const Config& c, const GemmProblem& p, double us, double blocks) {
  const double rows = static_cast<double>(std::min<std::int64_t>(c.bm, p.m) + std::min<std::int64_t>(c.bn, p.n));
  const double under_way = blocks * (c.stages - 1) * rows * c.bk * static_cast<double>(size_of(p.dtype));  // bytes
  return std::max(us / copies_share, cost(p).bytes_read / under_way * copies_late_us);
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
