// Tall products of few columns and short k, from Ampere on: B stays in shared memory, and warps stream rows of A
// through registers. What memory moves bounds them: filters of one tap over images, of 16 to 128 channels.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>

#include <cmath>

namespace ridge::gemm_kernels {

inline constexpr int stream_warps = 8, stream_threads = 32 * stream_warps;
inline constexpr int stream_rows = 16;     // of A that a warp has at a time, as an instruction multiplies
inline constexpr int stream_columns = 32;  // of D that it computes at a time: a vector for each lane of a row
inline constexpr int stream_k = 32;        // elements of a row that its lanes load at a time, a vector each

// Elements from a column of B in shared memory to the next. Two columns side by side are in different halves of the
// banks, so that eight lanes read vectors without a conflict.
constexpr int stream_pitch(const Config& c) { return c.bk % 64 == 0 ? c.bk + 32 : c.bk; }
constexpr std::int64_t stream_smem_bytes(const Config& c, std::int64_t n) {
  return (n + stream_columns - 1) / stream_columns * stream_columns * stream_pitch(c) * 2;
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::mma_stream {

// Of a tensor that is not of A's type in rows of whole vectors.
inline std::string refuse_other(const char* name, const GemmProblem& p, const std::optional<GemmOperand>& o) {
  if (!o) return {};
  if (o->dtype != p.dtype) return std::string(name) + " is of another type than a";
  if (o->col_stride != 1) return std::string(name) + "'s rows are not contiguous";
  return refuse_unaligned(name, *o, o->row_stride);
}

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_before_ampere(device); !why.empty()) return why;
  if (p.batch != 1) return "it multiplies one matrix";
  if (products(p) == 0) return "there are no products";
  if (p.k > c.bk) return "k is " + std::to_string(p.k) + ", and it keeps " + std::to_string(c.bk);
  if (p.n > c.bn) return "D has " + std::to_string(p.n) + " columns, and it keeps " + std::to_string(c.bn) + " of B";
  if (p.k % 8 != 0 || p.n % 8 != 0) return "k or D's rows are not of whole 16-byte vectors";
  if (std::string why = refuse_operands(c, p, true); !why.empty()) return why;
  if (p.bias == GemmBias::along_m) return "the bias is along m";
  for (const auto& [name, o] :
       {std::pair{"d", &p.d}, {"c", &p.c}, {"the bias", &p.bias_layout}, {"the residual", &p.residual_layout}})
    if (std::string why = refuse_other(name, p, *o); !why.empty()) return why;
  return roofline::refuse_smem(static_cast<int>(stream_smem_bytes(c, p.n)), device);
}

inline double row_tiles(const GemmProblem& p) { return std::ceil(static_cast<double>(p.m) / stream_rows); }

inline Footprint footprint(const Variant& row, const GemmProblem& p, const DeviceInfo& device, const Arrangement&) {
  const Config& c = row.config;
  const auto smem = static_cast<int>(stream_smem_bytes(c, p.n));
  const int resident = std::max(1, std::min(c.blocks_per_sm, device.smem_per_sm / std::max(smem + 1024, 1)));
  const std::int64_t blocks = has_no_rows(p) ? 0
                                             : std::min(ceil_div(ceil_div(p.m, stream_rows), stream_warps),
                                                        std::int64_t{device.sms} * resident);
  return {.launch = {.grid = blocks,
                     .threads = stream_threads,
                     .registers = registers_of(c, stream_threads),
                     .smem = smem,
                     .workspace = 0},
          .tiles = blocks,
          .tile_rows = stream_rows * stream_warps,
          .tile_columns = static_cast<int>(p.n),
          .trip_bytes = static_cast<double>(stream_rows * stream_warps * p.k) * static_cast<double>(size_of(p.dtype))};
}

// Instructions of a warp for stream_rows rows of D, about as in machine code.
inline double instructions(const GemmProblem& p) {
  const double parts = std::ceil(static_cast<double>(p.k) / stream_k),
               columns = std::ceil(static_cast<double>(p.n) / stream_columns);
  const double activation = p.scalars.activation == Activation::none   ? 0
                            : p.scalars.activation == Activation::relu ? 16
                                                                       : 160;
  return 70 + parts * 12 + columns * (parts * 14 + 220 + activation + addends(p) * 8);
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Footprint at = footprint(row, p, device, {});
  // Estimates. issued: share of a multiprocessor's warp instructions per clock
  constexpr double issued = 0.6;
  constexpr double start = 3000;         // clocks of a block's start, and of B on its way to shared memory
  constexpr double memory_share = 0.85;  // of memory's rate
  Prediction r;
  Clocks& clocks = r.clocks;
  const double per_clock = tensor_products_per_clock(p.dtype, device);
  const double warps = static_cast<double>(std::max<std::int64_t>(at.launch.grid, 1)) * stream_warps;
  clocks.tiles = std::ceil(row_tiles(p) / warps) * std::ceil(warps / device.sms);
  clocks.mean_tiles = row_tiles(p) / device.sms;
  clocks.step_k = c.bk;
  clocks.tensor_cores = true;
  clocks.step = {instructions(p) / (schedulers * issued), "warp instructions"};
  count_products(clocks, needed_products(p), static_cast<double>(stream_rows * p.n * c.bk), 1, per_clock, device);
  clocks.start = start;
  clocks.total = start + clocks.tiles * clocks.step.clocks;
  const double work_us = clocks.total / device.clock_ghz * 1e-3,
               memory_us =
                   start / device.clock_ghz * 1e-3 + cost(p).bytes() / (device.memory_gbs * memory_share) * 1e-3;
  r.memory_us = std::max(0.0, memory_us - work_us);
  r.us = device.launch_us + std::max(work_us, memory_us);
  return r;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr KernelFamily family{
    .fits = fits, .arrange = arrange_alike, .footprint = footprint, .model = model, .lesson = lesson};

}  // namespace ridge::gemm_detail::mma_stream
