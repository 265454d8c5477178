// Tiles of both operands in shared memory; a thread has a few outputs of a few rows.
#pragma once
#include <ridge/dwconv/problem.hpp>

namespace ridge::dwconv_detail {

inline constexpr int tile_steps = 64;  // of the sum, in shared memory at a time
constexpr int tile_outputs(const Config& c) { return c.threads * c.outputs; }
constexpr int tile_rows(const Config& c, bool summed) { return summed ? 1 : c.batches; }
// The rows' steps, and the window of the filter between an output tile and the steps.
constexpr int tiled_smem_bytes(const Config& c, bool summed) {
  return static_cast<int>(sizeof(float)) * (tile_rows(c, summed) * tile_steps + tile_outputs(c) + tile_steps);
}

// Tiles of a channel's outputs, or pairs of tiles.
constexpr std::int64_t tiles_of(const Config& c, std::int64_t outputs) {
  const std::int64_t tiles = ceil_div(outputs, tile_outputs(c));
  return c.paired ? ceil_div(tiles, 2) : tiles;
}
constexpr std::int64_t batch_groups(const Config& c, const DwconvProblem& p, bool summed) {
  return summed ? 1 : ceil_div(p.batch, c.batches);
}
constexpr std::int64_t tiled_grid(const Config& c, const DwconvProblem& p, std::int64_t outputs, bool summed) {
  return p.channels * batch_groups(c, p, summed) * tiles_of(c, outputs);
}

namespace tiled {

inline std::int64_t largest_grid(const Config& c, const DwconvProblem& p) {
  const std::int64_t of_w = summed_outputs(p);
  return std::max(tiled_grid(c, p, p.time, false), of_w ? tiled_grid(c, p, of_w, true) : 0);
}

inline std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  if (std::string why = refuse_long(p); !why.empty()) return why;
  return refuse_grid(largest_grid(row.config, p));
}

// Gradients take two launches: the grid is the larger one's.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = largest_grid(c, p), .threads = c.threads, .registers = 64, .smem = tiled_smem_bytes(c, false)};
}

inline double clocks(const Config& c, const DwconvProblem& p, bool summed) {
  // A multiply-add per lane, and shared memory's wavefronts: steps of p for all lanes, of q for each. The additional
  // cost of loading tiles was measured on an H200; a sum over the batch loads one for every row.
  const double rows = static_cast<double>(p.batch);
  const double g = tile_rows(c, summed), r = c.outputs;
  const double waste = summed ? 1 : std::ceil(rows / g) * g / std::max(rows, 1.0);
  const double per_product = 1.0 / 128 + (g + std::max(4.0, r)) / (4 * r * g * 32);
  const double tiles = summed ? (c.paired ? 6.6 : 5.5) : c.paired ? 2.6 : 2.8;
  return all_products(p) * waste * per_product * tiles;
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.clocks = over_sums(p, [&](bool summed) { return clocks(row.config, p, summed); });
  return k;
}

inline std::string_view lesson(const Variant& row) {
  const Config& c = row.config;
  return c.paired ? "divergence" : c.outputs > 1 || c.batches > 1 ? "coarsening" : "tiling";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace tiled
}  // namespace ridge::dwconv_detail
