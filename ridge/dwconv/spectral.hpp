// Tiles of both operands, multiplied in the frequency domain.
#pragma once
#include <ridge/dwconv/fft.hpp>

namespace ridge::dwconv_detail {

// The exchange buffer, the twiddle factors, and the transform of the filter.
constexpr int spectral_smem_bytes(const Config& c) {
  return 2 * static_cast<int>(sizeof(float)) * (fft_words(c.points) + fft_twiddles(c.points) + c.points);
}

// The range of a row that is scaled, as the exponent of its greatest magnitude: scale and inverse are normal numbers.
inline constexpr int spectral_exponent = 100;

// A block computes `outputs` neighbouring outputs from tiles of `steps` of p. A transform of N points has room for both
// if outputs + steps - 1 <= N. A filter shorter than N / 2 needs only its own length beside the outputs (overlap-save):
// then the circular sum over its lags wraps around where no output is.
struct SpectralTiles {
  int outputs, steps, lags;
  int pairs;            // pairs of rows per transform of the filter
  std::int64_t groups;  // groups of so many pairs
};
constexpr SpectralTiles spectral_tiles(const Config& c, const DwconvProblem& p, bool summed) {
  const int n = static_cast<int>(lags(p)), half = c.points / 2;
  const std::int64_t pairs = ceil_div(p.batch, 2);
  if (n > half) return {half, half, n, 1, summed ? 1 : pairs};
  if (summed) return {n, c.points - n + 1, n, 1, 1};
  constexpr int together = 4;
  return {c.points - n + 1, c.points, n, together, ceil_div(pairs, together)};
}
constexpr std::int64_t spectral_grid(const Config& c, const DwconvProblem& p, std::int64_t outputs, bool summed) {
  const SpectralTiles tiles = spectral_tiles(c, p, summed);
  return p.channels * tiles.groups * ceil_div(outputs, tiles.outputs);
}

namespace spectral {

inline std::int64_t largest_grid(const Config& c, const DwconvProblem& p) {
  const std::int64_t of_w = summed_outputs(p);
  return std::max(spectral_grid(c, p, p.time, false), of_w ? spectral_grid(c, p, of_w, true) : 0);
}

inline std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_empty(p); !why.empty()) return why;
  if (std::string why = refuse_long(p); !why.empty()) return why;
  if (std::string why = refuse_grid(largest_grid(c, p)); !why.empty()) return why;
  return refuse_smem(spectral_smem_bytes(c), device);
}

// Gradients take two launches: the grid is the larger one's.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = largest_grid(c, p), .threads = c.threads, .registers = 128, .smem = spectral_smem_bytes(c)};
}

// Transforms for one sum of the problem.
inline double transforms(const Config& c, const DwconvProblem& p, bool summed) {
  const SpectralTiles tiles = spectral_tiles(c, p, summed);
  const double pairs = static_cast<double>(ceil_div(p.batch, 2)), channels = static_cast<double>(p.channels);
  if (summed) {  // lags from o on need the steps of both signals from o on
    const double outputs = static_cast<double>(ceil_div(lags(p), tiles.outputs));
    const double steps = static_cast<double>(p.time) - (outputs - 1) * tiles.outputs / 2;
    return channels * outputs * (2 * pairs * std::ceil(steps / tiles.steps) + 1);
  }
  const double outputs = static_cast<double>(ceil_div(p.time, tiles.outputs));
  if (tiles.steps == c.points) return channels * outputs * (2 * pairs + static_cast<double>(tiles.groups));
  // Tile i of outputs meets the tiles of steps up to i, as far as the filter looks back;
  // each pair transforms the filter too.
  const double reach = std::min(outputs, static_cast<double>(ceil_div(lags(p) + tiles.outputs - 1, tiles.steps)));
  const double tiles_met = reach * (reach + 1) / 2 + (outputs - reach) * reach;
  return channels * pairs * (2 * tiles_met + outputs);
}

inline double clocks(const Config& c, const DwconvProblem& p, bool summed) {
  // A thread's pass has 330 instructions, of which 128 issue per clock, and 32 accesses of 8 bytes to shared memory,
  // each two wavefronts per warp. Loading and measuring a row takes about one pass more. Passes end in barriers, so
  // that arithmetic and memory hide little of each other; on an H200 it takes a tenth more than their sum.
  const double passes = std::log2(c.points) / std::log2(fft_radix);
  return transforms(c, p, summed) * (std::ceil(passes) + 1) * c.threads * 1.1 * (330.0 / 128 + 32 * 2 / 32.0);
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  count_transforms(k, c, over_sums(p, [&](bool summed) { return transforms(c, p, summed); }));
  k.clocks = over_sums(p, [&](bool summed) { return clocks(c, p, summed); });
  return k;
}

inline std::string_view lesson(const Variant&) { return "better maths"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace spectral
}  // namespace ridge::dwconv_detail
