// Few rows of A and unaligned weights along k, from Ampere on: weights go from memory straight to the registers that
// tensor cores read. What memory moves bounds them: a decoder's products of 1 to 8 tokens.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>

#include <cmath>

namespace ridge::gemm_kernels {

inline constexpr int direct_columns = 16;   // of D in a block, rows of B: an instruction's rows
inline constexpr int direct_row_lanes = 4;  // of a warp, which load neighbours along k: 64 bytes of a row

constexpr int direct_threads(const Config& c) { return 32 * c.k_groups; }
constexpr int direct_smem_bytes(const Config& c) {  // sums of all warps
  return c.k_groups * c.bm * direct_columns * static_cast<int>(sizeof(float));
}
// Bytes of B that a warp has on their way at a time, of elements of so many bytes.
constexpr int direct_warp_bytes(const Config& c, int size) { return direct_columns * c.bk * size; }

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::mma_direct {

inline std::int64_t column_tiles(const GemmProblem& p) { return ceil_div(p.n, direct_columns); }

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (products(p) == 0) return "there are no products";
  if (p.m > c.bm) return "A has " + std::to_string(p.m) + " rows, and it multiplies " + std::to_string(c.bm);
  if (std::string why = refuse_operands(c, p, true); !why.empty()) return why;
  if (std::string why = refuse_tiles(column_tiles(p)); !why.empty()) return why;
  return refuse_long_k(c, p);
}

inline Footprint footprint(const Variant& row, const GemmProblem& p, const DeviceInfo&, const Arrangement&) {
  const Config& c = row.config;
  const std::int64_t tiles = has_no_rows(p) ? 0 : column_tiles(p);
  const int threads = direct_threads(c), size = static_cast<int>(size_of(p.dtype));
  return {.launch = {.grid = tiles * p.batch,
                     .threads = threads,
                     .registers = registers_of(c, threads),
                     .smem = direct_smem_bytes(c),
                     .workspace = 0},
          .tiles = tiles,
          .tile_rows = c.bm,
          .tile_columns = direct_columns,
          .trip_bytes = static_cast<double>(c.k_groups * direct_warp_bytes(c, size))};
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  // Clocks of a block's start, its sums and its epilogue; of one round of loads of all its warps; share of memory's
  // rate for reads. On an H200 4 x 768 x 768 takes 11.0 us, 4 x 1344 x 3584 18.8, 2 x 6260 x 6260 34.6.
  constexpr double start = 15000, round = 1100, memory_share = 0.67;
  const int step = c.bk * c.k_groups;
  const double blocks = static_cast<double>(column_tiles(p)) * static_cast<double>(std::max<std::int64_t>(p.batch, 1)),
               rounds = std::ceil(static_cast<double>(products(p)) / step);
  Prediction r;
  Clocks& clocks = r.clocks;
  clocks.tiles = std::ceil(blocks / device.sms);
  clocks.mean_tiles = blocks / device.sms;
  clocks.step_k = step;
  clocks.tensor_cores = true;
  const double waves = std::ceil(clocks.tiles / c.blocks_per_sm);
  clocks.step = {round * waves / std::max(1.0, clocks.tiles), "waits for memory"};
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * direct_columns * step, rounds,
                 tensor_products_per_clock(p.dtype, device), device);
  clocks.start = start;
  clocks.total = start + waves * rounds * round;
  const double work_us = clocks.total / device.clock_ghz * 1e-3;
  const double read_gbs = device.read_gbs > 0 ? device.read_gbs : device.memory_gbs;
  const double memory_us = start / device.clock_ghz * 1e-3 + cost(p).bytes() / (read_gbs * memory_share) * 1e-3;
  r.memory_us = std::max(0.0, memory_us - work_us);
  r.us = device.launch_us + std::max(work_us, memory_us);
  return r;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr KernelFamily family{
    .fits = fits, .arrange = arrange_alike, .footprint = footprint, .model = model, .lesson = lesson};

}  // namespace ridge::gemm_detail::mma_direct
