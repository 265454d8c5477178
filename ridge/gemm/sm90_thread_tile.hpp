// float32 on Hopper by multiply-adds, with tiles that TMA loads.
#pragma once
#include <ridge/gemm/sm90_family.hpp>

namespace ridge::gemm_kernels {

// Config::bm and tm belong to the operand `down`, bn and tn to the one `across`.
constexpr int tma_tile_threads(const Config& c) { return (c.bm / c.tm) * (c.bn / c.tn) * c.k_groups; }

// Shared memory: [stages][down | across] of float, reused in the end for each group's sums; then two barriers and a
// count per stage.
constexpr int tma_tile_barriers_at(const Config& c) {
  return std::max(c.stages * (c.bm + c.bn) * c.bk, c.k_groups * c.bm * (c.bn + 4)) * 4;
}
constexpr int tma_tile_smem_bytes(const Config& c) { return tma_tile_barriers_at(c) + c.stages * 20; }

}  // namespace ridge::gemm_kernels

namespace ridge::gemm_detail::tma_tile {

// Whether a K-major operand is transposed first although it may be the `down` one. Its rows would be gathered, and the
// compiler finds registers of different banks less often: 5 % of the time of large tiles. Transposing takes less where
// each element is used often.
inline bool transposes_down(const Config& c, const GemmProblem& p) {
  constexpr std::int64_t uses = 2048;
  return c.k_groups == 1 && std::min(p.m, p.n) > uses;
}

// The `across` operand must be contiguous along M or N.
inline Repack repack_of(const Config& c, const GemmProblem& p, bool swap_ab) {
  const auto as = [&](bool across) { return across || transposes_down(c, p) ? Major::outer : Major::none; };
  Repack r;
  r.a = repacked(p, given_a(p), as(swap_ab), 0);
  r.b = repacked(p, given_b(p), as(!swap_ab), r.a.bytes);
  return r;
}

// ---- fits

inline std::string fits(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_row(row, p); !why.empty()) return why;
  if (std::string why = roofline::refuse_all_but_hopper(device); !why.empty()) return why;
  if (std::string why = refuse_launch(c, p, tma_tile_smem_bytes(c), device); !why.empty()) return why;
  if (std::string why = refuse_sizes(p); !why.empty()) return why;
  if (matrices_of(p) <= gemm_kernels::max_grid_z) return {};
  return "it takes batches of at most " + std::to_string(gemm_kernels::max_grid_z);
}

// ---- footprint

// Blocks for a matrix.
inline std::int64_t blocks_of(const Config& c, const GemmProblem& p, bool swap_ab) {
  return raster_of(swap_ab ? p.n : p.m, swap_ab ? p.m : p.n, c.bm, c.bn).tiles();
}

inline Footprint footprint(const Variant& row, const GemmProblem& p, const DeviceInfo&, const Arrangement& way) {
  const Config& c = row.config;
  const int threads = tma_tile_threads(c);
  const std::int64_t tiles = has_no_rows(p) ? 0 : tiles_of(c, p);
  return {.launch = {.grid = tiles == 0 ? 0 : blocks_of(c, p, way.swap_ab) * p.batch,
                     .threads = threads,
                     .registers = registers_of(c, threads),
                     .smem = tma_tile_smem_bytes(c),
                     .workspace = repack_of(c, p, way.swap_ab).bytes()},
          .tiles = tiles,
          .tile_rows = c.bm,
          .tile_columns = c.bn,
          .trip_bytes = stages_bytes(c, p)};
}

// ---- model

inline constexpr double share_of_two = 0.784;    // of the multiply-adds' rate, where two warps share a scheduler
inline constexpr double share_of_groups = 0.75;  // the same where groups of warps have their own steps
inline constexpr double share_of_8x8 = 0.67;     // the same for 8 x 8 per thread, which reads more per product
inline constexpr double share_of_one = 0.55;     // and where one warp is alone with its waits
// Factor where the operand `down` is K-major: more multiply-adds then have register bank conflicts.
inline constexpr double share_along_k = 0.96;
inline constexpr double tile_clocks = 5000;  // a block's start, first loads from memory and epilogue

// The operand `across` lies along M or N. Where neither does, B is transposed.
inline Arrangement arrange(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Arrangement way{.swap_ab = !transposes_down(c, p) && major_of_a(p) == Major::outer && major_of_b(p) == Major::k};
  const double tiles = static_cast<double>(blocks_of(c, p, way.swap_ab) * p.batch);
  const double most = std::ceil(tiles / device.sms), resident = std::clamp<double>(most, 1, c.blocks_per_sm);
  const double warps = resident * tma_tile_threads(c) / 32;
  const double share = warps < 2 * schedulers ? share_of_one
                       : c.tm == 8            ? share_of_8x8
                       : c.k_groups > 1       ? share_of_groups
                                              : share_of_two;
  const bool along_k = !transposes_down(c, p) && (way.swap_ab ? major_of_b(p) : major_of_a(p)) == Major::k;
  const double instructions = static_cast<double>(ceil_div(products(p), c.bk) * c.bk) * c.bm * c.bn / 32;
  const double rate = multiply_adds_per_clock(p.dtype, device) * std::min(1.0, warps / schedulers) * share *
                      (along_k ? share_along_k : 1);
  const double steps = static_cast<double>(ceil_div(products(p), c.bk));
  Clocks& clocks = way.clocks;
  clocks.tiles = most;
  clocks.mean_tiles = tiles / device.sms;
  clocks.step_k = c.bk;
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * c.bn * c.bk, steps,
                 32 * multiply_adds_per_clock(p.dtype, device), device);
  clocks.step = {instructions / steps / rate, "reads of shared memory, and waits that few warps hide"};
  clocks.start = most * (tile_clocks / resident);
  clocks.total = most * (instructions / rate + tile_clocks / resident);
  return way;
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Arrangement way = arrange(row, p, device);
  return predict(way.clocks, 0, repack_of(row.config, p, way.swap_ab), p, device);
}

// The multiply-adds of thread_tile.hpp, with operands loaded by a copy engine.
inline std::string_view lesson(const Variant& row) {
  return row.config.bm * row.config.bn < 128 * 128 ? "occupancy" : "coarsening";
}

inline constexpr KernelFamily family{
    .fits = fits, .arrange = arrange, .footprint = footprint, .model = model, .lesson = lesson, .repack = repack_of};

}  // namespace ridge::gemm_detail::tma_tile
