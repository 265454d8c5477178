// Whole rows of float32 in shared memory, and the filter's fragments in registers, by wgmma; w's gradient is that of
// sm90_lags.hpp, or of sm80_lags.hpp for longer rows.
#pragma once
#include <ridge/dwconv/sm90_lags.hpp>

namespace ridge::dwconv_detail {

// Pairs of the filter's elements, from this lag on: a fragment begins up to 62 lags before lag 0.
inline constexpr int first_pair = -chunk;
constexpr int pair_count(int chunks) { return chunks * chunk - first_pair; }
// k's chunks, pairs of each component, a scale per row and chunk, two marks per row, the next filter, two barriers.
constexpr std::int64_t whole_smem_bytes(std::int64_t chunks) {
  return chunks * lines_bytes +
         static_cast<std::int64_t>(sizeof(float)) *
             (2 * (chunks * chunk - first_pair) + chunks * band_rows + 2 * band_rows + chunks * chunk) +
         2 * 8;
}
// Work items: a channel and 32 rows of the batch each.
constexpr std::int64_t whole_items(std::int64_t batch, std::int64_t channels) {
  return channels * ceil_div(batch, band_rows);
}
// Persistent blocks.
constexpr std::int64_t whole_grid(const Config& c, const DwconvProblem& p, int sms) {
  return std::min<std::int64_t>(whole_items(p.batch, p.channels), std::int64_t{sms} * c.blocks_per_sm);
}
// The block's reduction, and padding to a multiple of 1024, the alignment of swizzled lines.
inline constexpr std::int64_t whole_static_bytes = 1024;

namespace whole {

// Bytes of shared memory of the convolution or of k's gradient; and of the launch that takes most.
inline std::int64_t rows_bytes(const DwconvProblem& p) {
  return whole_smem_bytes(whole_chunks(p)) + whole_static_bytes;
}
inline std::int64_t most_bytes(const DwconvProblem& p) {
  if (!p.backward) return rows_bytes(p);
  return std::max(rows_bytes(p), has_whole_lags(p) ? whole_lags_smem_bytes(whole_chunks(p)) : band_smem_bytes(p));
}

inline std::string fits(const Variant&, const DwconvProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_long(p); !why.empty()) return why;
  // Blocks count items in 32 bits.
  if (std::string why = refuse_grid(whole_items(p.batch, p.channels)); !why.empty()) return why;
  if (device.cc != 90) return "the device has no wgmma, of compute capability 9.0";
  if (p.dtype != f32) return "it takes f32 alone";
  if (std::string why = refuse_empty(p); !why.empty()) return why;
  return refuse_smem(most_bytes(p), device);
}

// A block of the convolution or of k's gradient; w's gradient has blocks of its own.
inline Footprint footprint(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  return {.grid = whole_grid(c, p, device.sms),
          .threads = c.threads,
          .registers = 128,
          .smem = static_cast<int>(rows_bytes(p))};
}

// Products of 64 x 64 steps, for all items of a channel and 32 rows.
inline double chunk_products(const DwconvProblem& p) {
  const double chunks = static_cast<double>(whole_chunks(p));
  const double reach =
      std::min(chunks, static_cast<double>(ceil_div(lags(p) - 1, chunk)) + 1);  // chunks that a tile looks back
  const double met = reach * (reach + 1) / 2 + (chunks - reach) * reach;
  return met * static_cast<double>(whole_items(p.batch, p.channels));
}

inline double clocks(const Config& c, const DwconvProblem& p, const DeviceInfo& device, bool summed) {
  if (summed && !has_whole_lags(p)) return band_clocks(p, device);
  // The tensor cores take 192 for hi hi, hi lo and lo hi; loading, splitting and storing rows come on top, and two
  // resident blocks hide more of it than one. Measured on an H200.
  const std::int64_t smem = rows_bytes(p) + device.smem_reserved;
  const bool two = c.blocks_per_sm > 1 && 2 * smem <= device.smem_per_sm;
  return chunk_products(p) * (summed ? 700 : two ? 510 : 800);
}

inline roofline::Kernel model(const Variant& row, const DwconvProblem& p, const DeviceInfo& device) {
  roofline::Kernel k = kernel_of(footprint(row, p, device), p);
  k.clocks = over_sums(p, [&](bool summed) { return clocks(row.config, p, device, summed); });
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace whole
}  // namespace ridge::dwconv_detail
