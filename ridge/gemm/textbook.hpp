// The textbook's steps on the way to thread_tile.hpp: a thread per element of D, any strides.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>

namespace ridge::gemm_kernels {

constexpr int textbook_threads(const Config& c) { return c.bm * c.bn; }

// With a gate, too, a tile of `naive` has bn columns.
constexpr std::int64_t naive_tiles(const Config& c, const Shape& shape) {
  return raster_of(shape.m, shape.n, c.bm, c.bn).tiles();
}

// Elements that pad a row of `shared` in shared memory.
inline constexpr int shared_padding = 1;
constexpr int shared_smem_bytes(const Config& c, DType dtype) {
  return c.bk * (c.bm + c.bn + 2 * shared_padding) * staged_bytes(dtype);
}

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail {
namespace textbook {

inline constexpr int most_resident = 8;  // blocks of a multiprocessor

// Clocks of a block's products of `k` along k, each with so many loads. A thread multiplies single elements: signed
// bytes at the full rate.
inline double work_clocks(const Config& c, const GemmProblem& p, const DeviceInfo& device, double k, double loads) {
  const double rate = multiply_adds_per_clock(p, device), warps = textbook_threads(c) / 32.0;
  return (c.gated ? 2 : 1) * warps * k * std::max(1 / rate * (p.dtype == i8 ? 0.5 : 1), loads);
}

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  return {.threads = textbook_threads(c),
          .columns = c.bn,
          .resident = most_resident,
          .per_clock = multiply_adds_per_clock(p, device) * (p.dtype != i8 ? 32 : 32 * 2),
          .start_clocks = tile_clocks,
          .finish_clocks = thread_finish_clocks(p)};
}

}  // namespace textbook

// Each use of an operand's element reads it from global memory.
namespace naive {

inline std::int64_t tiles_of(const Config& c, const GemmProblem& p) { return naive_tiles(c, {p.m, p.n, p.k, p.batch}); }

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  return refuse_tiles(tiles_of(row.config, p));
}

// The L1 cache takes the addresses of 4 lanes at a time for one of two loads.
inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double /*resident*/) {
  constexpr double wait = 150;  // until a product's loads arrive, where few warps hide it; on an H100
  return {std::max(textbook::work_clocks(c, p, device, 1, 6), wait), "two loads for each product"};
}

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  TileBlock block = textbook::block_of(c, p, device);
  block.tiles = tiles_of(c, p);
  block.step = 1;
  block.trip_bytes = 2.0 * block.threads * static_cast<double>(size_of(p.dtype));
  block.step_of = step_of;
  return block;
}

inline std::string_view lesson(const Variant& row) { return row.config.two_float ? "better maths" : ""; }

inline constexpr KernelFamily family = block_per_tile<fits, block_of, lesson>;

}  // namespace naive

// Each element that is read to shared memory is used bm or bn times.
namespace shared {

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = refuse_tiles(tiles_of(c, p)); !why.empty()) return why;
  return roofline::refuse_smem(shared_smem_bytes(c, p.dtype), device);
}

inline Step step_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, double resident) {
  const double work = textbook::work_clocks(c, p, device, c.bk, 2);
  return {work + 2 * (load_latency / 2 + barrier_clocks) / resident, "two loads for each product"};
}

inline TileBlock block_of(const Config& c, const GemmProblem& p, const DeviceInfo& device) {
  TileBlock block = textbook::block_of(c, p, device);
  block.smem = shared_smem_bytes(c, p.dtype);
  block.tiles = tiles_of(c, p);
  block.step = c.bk;
  block.trip_bytes = stages_bytes(c, p);
  block.step_of = step_of;
  return block;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr KernelFamily family = block_per_tile<fits, block_of, lesson>;

}  // namespace shared
}  // namespace ridge::gemm_detail
