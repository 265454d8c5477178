// Whole rows, multiplied in the frequency domain: a transform of N values for N steps.
#pragma once
#include <ridge/dwconv/fft.hpp>

namespace ridge::dwconv_detail {

// The exchange buffer, the factors of rows, and the greatest magnitudes per warp of two rows.
constexpr int ring_smem_bytes(const Config& c) {
  return 2 * static_cast<int>(sizeof(float)) * (fft_words(c.points) + c.points) +
         2 * static_cast<int>(sizeof(unsigned)) * (c.threads / 32);
}
// Rows of the batch per block, and so per transform of the filter: as many as leave a few waves of blocks, and evenly
// spread.
constexpr int ring_rows(const Config& c, const DwconvProblem& p, int sms) {
  constexpr std::int64_t most = 8, waves = 2;
  const std::int64_t blocks = std::max<std::int64_t>(waves * sms * c.blocks_per_sm, 1);
  const std::int64_t batch = std::max<std::int64_t>(p.batch, 1);
  const std::int64_t rows = std::clamp<std::int64_t>(ceil_div(batch * p.channels, blocks), 1, most);
  return static_cast<int>(ceil_div(batch, ceil_div(batch, rows)));
}
constexpr std::int64_t ring_grid(const Config& c, const DwconvProblem& p, int sms) {
  return p.channels * ceil_div(p.batch, ring_rows(c, p, sms));
}
// Exponents of rows' greatest magnitudes, times up to sixteen. For a filter: scale and inverse are normal numbers.
// For a row: times 2^13 values, times a scaled filter's, summed once more, it stays below 2^127.
inline constexpr int ring_filter_exponent = 100, ring_row_exponent = 90;

namespace ring {

inline std::string fits(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (std::string why = refuse_empty(p); !why.empty()) return why;
  if (p.time > c.points)
    return "rows of " + std::to_string(p.time) + " steps, and it takes " + std::to_string(c.points);
  if (std::string why = refuse_long(p); !why.empty()) return why;
  if (std::string why = refuse_grid(ring_grid(c, p, device.sms)); !why.empty()) return why;
  return refuse_smem(ring_smem_bytes(c), device);
}

// w's gradient has a launch of its own, of a block per channel.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return {.grid = ring_grid(c, p, device.sms), .threads = c.threads, .registers = 128, .smem = ring_smem_bytes(c)};
}

// Transforms for one sum of the problem.
inline double transforms(const Config& c, const DwconvProblem& p, int sms, bool summed) {
  const double rows = static_cast<double>(p.batch), channels = static_cast<double>(p.channels);
  const double filters = summed ? 1 : static_cast<double>(ceil_div(p.batch, ring_rows(c, p, sms)));
  return channels * (2 * rows + filters);
}

inline double clocks(const Config& c, const DwconvProblem& p, int sms, bool summed) {
  // A level takes seven instructions per two values, of which 128 issue per clock: six forward, eight in the inverse.
  // The additional cost of exchanges, loads and waits was measured on an H200.
  const double levels = c.points * std::log2(c.points) / 2;
  const double slack = (summed ? 2.15 : 1.9) * (p.dtype == f32 ? 1 : 1.2);
  return transforms(c, p, sms, summed) * levels * 7 / 128 * slack;
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  count_transforms(k, c, over_sums(p, [&](bool summed) { return transforms(c, p, device.sms, summed); }));
  k.clocks = over_sums(p, [&](bool summed) { return clocks(c, p, device.sms, summed); });
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ring
}  // namespace ridge::dwconv_detail
