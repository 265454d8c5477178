// float32 on Hopper by multiply-adds, with tiles that TMA loads.
#pragma once
#include <ridge/gemm/block_per_tile.hpp>
#include <ridge/gemm/sm90_family.hpp>

namespace ridge::gemm_kernels {

// Config::bm and tm belong to the operand `down`, bn and tn to the one `across`.
constexpr int tma_tile_lanes_across(const Config& c) { return c.bn < 8 * c.tn ? 4 : 8; }  // of a warp
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

// Whether B may be `down` in either layout: kernels for few rows of A, which then are `across`. Others take B along k
// there, as A across needs no copy in layout tt.
constexpr bool any_down_swapped(const Config& c) { return c.bn <= 32; }
inline bool may_swap(const Config& c, const GemmProblem& p) {
  return !transposes_down(c, p) && (any_down_swapped(c) || major_of_b(p) != Major::outer);
}

// The `across` operand must be contiguous along M or N.
inline Repack repack_of(const Config& c, const GemmProblem& p, bool swap_ab) {
  const auto as = [&](bool across) { return across || transposes_down(c, p) ? Major::outer : Major::none; };
  Repack r;
  r.a = repacked(p, given_a(p), as(swap_ab), 0);
  r.b = repacked(p, given_b(p), as(!swap_ab), r.a.bytes);
  return r;
}

// Whether a copy of the operand across alone goes first: the product then begins while that copy is made.
inline bool copies_across_alone(const Repack& r, bool swap_ab) {
  const Repacked &down = swap_ab ? r.b : r.a, &across = swap_ab ? r.a : r.b;
  return across.needed && !down.needed;
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
  return {.launch = {.grid = tiles == 0 ? 0 : blocks_of(c, p, way.swap_ab) * p.batch * way.split,
                     .threads = threads,
                     .registers = registers_of(c, threads),
                     .smem = tma_tile_smem_bytes(c),
                     .workspace = repack_of(c, p, way.swap_ab).bytes() + slice_bytes(p, way.split)},
          .tiles = tiles,
          .tile_rows = c.bm,
          .tile_columns = c.bn,
          .trip_bytes = stages_bytes(c, p)};
}

// ---- model

inline constexpr double share_of_two = 0.784;    // of the multiply-adds' rate, where two warps share a scheduler
inline constexpr double share_of_groups = 0.75;  // the same where groups of warps have their own steps
// The same for 8 x 8 per thread, which reads more per product; and for 16 x 4, estimated from it: 284 instructions have
// 256 products where 8 x 8 have 280, and 16 x 8 have 544 for 512.
inline constexpr double share_of_8x8 = 0.67, share_of_16x4 = 0.66;
inline constexpr double share_of_one = 0.55;  // and where one warp is alone with its waits
// Factor where the operand `down` is K-major: more multiply-adds then have register bank conflicts.
inline constexpr double share_along_k = 0.96;
inline constexpr double tile_clocks = 5000;  // a block's start, first loads from memory and the sums' way to D
// Of a multiprocessor per element of D beyond that; H200, 385 x 4096 x 8 with bias and residual.
inline double finish_clocks(const GemmProblem& p) {
  return 0.5 * addends(p) + (p.scalars.activation == Activation::none ? 0 : 0.1);
}

inline Clocks clocks_of(const Config& c, const GemmProblem& p, const DeviceInfo& device, bool swap_ab, int slices) {
  const double tiles = static_cast<double>(blocks_of(c, p, swap_ab) * p.batch * slices);
  const double most = std::ceil(tiles / device.sms), resident = std::clamp<double>(most, 1, c.blocks_per_sm);
  const double warps = resident * tma_tile_threads(c) / 32;
  const double share = warps < 2 * schedulers ? share_of_one
                       : c.tm == 8            ? share_of_8x8
                       : c.tn == 4            ? share_of_16x4
                       : c.k_groups > 1       ? share_of_groups
                                              : share_of_two;
  const bool along_k = !transposes_down(c, p) && (swap_ab ? major_of_b(p) : major_of_a(p)) == Major::k;
  // The group of warps with the most steps.
  const std::int64_t steps_of_slice = ceil_div(slices_of(c, products(p), slices).k, c.bk);
  const double steps = static_cast<double>(ceil_div(steps_of_slice, c.k_groups) * c.k_groups);
  const double instructions = steps * c.bk * c.bm * c.bn / 32;
  const double rate =
      multiply_adds_per_clock(p, device) * std::min(1.0, warps / schedulers) * share * (along_k ? share_along_k : 1);
  Clocks clocks;
  clocks.tiles = most;
  clocks.mean_tiles = tiles / device.sms;
  clocks.step_k = c.bk;
  count_products(clocks, needed_products(p), static_cast<double>(c.bm) * c.bn * c.bk, steps,
                 32 * multiply_adds_per_clock(p, device), device);
  clocks.step = {instructions / steps / rate, "reads of shared memory, and waits that few warps hide"};
  clocks.start = most * (tile_clocks / resident);
  clocks.finish = most * c.bm * c.bn * finish_clocks(p);
  clocks.total = most * (instructions / rate) + clocks.start + clocks.finish;
  return clocks;
}

inline Prediction prediction_of(const Config& c, const GemmProblem& p, const DeviceInfo& device,
                                const Arrangement& way) {
  const Repack reads = repack_of(c, p, way.swap_ab);
  Prediction r = predict(way.clocks, 0, reads, p, device);
  const double early_us = copies_across_alone(reads, way.swap_ab) ? device.launch_us : 0;  // its launch is hidden
  r.copies_us -= early_us;
  r.slices_us = slices_us(p, device, way.split);
  r.us += r.slices_us - early_us;
  return r;
}

// The operand `across` and the number of slices that take least time.
inline Arrangement arrange(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  Arrangement best;
  double least_us = 0;
  for (const bool swap_ab : {false, true}) {
    if (swap_ab && !may_swap(c, p)) continue;
    const std::int64_t blocks = blocks_of(c, p, swap_ab) * p.batch;
    for (int wanted = 1; wanted <= max_slices; wanted += std::max(1, wanted / 2)) {
      const bool sliced = wanted > 1;
      if (sliced && (!has_addable_sums(p) || blocks > most_sliced_tiles * device.sms ||
                     p.batch * wanted > gemm_kernels::max_grid_z))
        break;
      Arrangement way{.split = slices_of(c, products(p), wanted).count, .swap_ab = swap_ab};
      way.clocks = clocks_of(c, p, device, swap_ab, way.split);
      const double us = prediction_of(c, p, device, way).us;
      if (least_us == 0 || us < least_us) least_us = us, best = way;
    }
  }
  return best;
}

inline Prediction model(const Variant& row, const GemmProblem& p, const DeviceInfo& device) {
  return prediction_of(row.config, p, device, arrange(row, p, device));
}

// The multiply-adds of thread_tile.hpp, with operands loaded by a copy engine.
inline std::string_view lesson(const Variant& row) {
  return row.config.bm * row.config.bn < 128 * 128 ? "occupancy" : "coarsening";
}

inline constexpr KernelFamily family{.fits = fits,
                                     .arrange = arrange,
                                     .footprint = footprint,
                                     .model = model,
                                     .lesson = lesson,
                                     .slices = true,
                                     .repack = repack_of};

}  // namespace ridge::gemm_detail::tma_tile
