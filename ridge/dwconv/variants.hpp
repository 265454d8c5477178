// The table of dwconv's kernels, and every fact that plan and kernels share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/dwconv/dwconv.hpp>

#include <algorithm>

namespace ridge::dwconv_detail {

enum class Method : std::uint8_t {
  element,   // a thread per output, operands from memory
  tiled,     // tiles of both operands in shared memory
  spectral,  // tiles of both operands, multiplied by frequency
  ring,      // rows whole, multiplied by frequency
  tensor,    // tensor cores, by mma.sync
  whole,     // tensor cores, by wgmma, from rows that shared memory holds whole
};

struct Config {
  Method method = Method::element;
  int threads = 256;
  int outputs = 1;        // tiled: neighbouring outputs of a thread
  int batches = 1;        // tiled: rows of k that a block passes one filter over; tensor, whole: the same, in eights
  bool paired = false;    // tiled: a block takes the i-th tile from either end, so that all do equally much
  int row_tiles = 2;      // tensor: 16 outputs each, of a warp
  int blocks_per_sm = 2;  // spectral, ring, tensor, whole: least residency asked of the compiler
  int points = 0;         // spectral, ring: of a transform; sixteen of each thread
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any strides", {}},
    {"shared", "tiles of k and of the filter in shared memory", {.method = Method::tiled}},
    {"float4", "four outputs of a thread: a filter's elements stay in registers and slide", {.method = Method::tiled, .threads = 64, .outputs = 4}},
    {"batched", "one filter's registers serve four rows of k", {.method = Method::tiled, .threads = 64, .outputs = 4, .batches = 4}},
    {"balanced", "eight rows of k, and every block an early and a late tile: equal work", {.method = Method::tiled, .threads = 64, .outputs = 4, .batches = 8, .paired = true}},
    {"fft_1024", "by Fourier transforms of 1,024 points, two rows of k in one", {.method = Method::spectral, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_8192", "of 8,192 points: fewer tiles of a long row meet", {.method = Method::spectral, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"fft_row_1024", "rows of up to 1,024 steps whole, by as many values", {.method = Method::ring, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_row_2048", "of up to 2,048 steps", {.method = Method::ring, .threads = 128, .blocks_per_sm = 4, .points = 2048}},
    {"fft_row_4096", "of up to 4,096 steps", {.method = Method::ring, .threads = 256, .blocks_per_sm = 2, .points = 4096}},
    {"fft_row_8192", "of up to 8,192 steps, by one exchange more", {.method = Method::ring, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"tensor_8", "the filter as a Toeplitz matrix on tensor cores, eight rows of k", {.method = Method::tensor, .batches = 1, .row_tiles = 4}},
    {"tensor_32", "32 rows of k: a fragment of the filter serves four products", {.method = Method::tensor, .batches = 4}},
    {"whole_32", "32 rows of k whole in shared memory, the filter's fragments in registers: Hopper's wgmma", {.method = Method::whole, .batches = 4}},
    {"whole_32_wide", "twice the warps, for rows that leave no room for a second block", {.method = Method::whole, .threads = 512, .batches = 4, .blocks_per_sm = 1}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr std::int64_t lags(const DwconvProblem& p) { return std::min(p.taps, p.time); }  // that have terms

// ---- tiled -------------------------------------------------------------------------------------------------------

inline constexpr int tile_steps = 64;  // of the sum's index, in shared memory at a time
constexpr int tile_outputs(const Config& c) { return c.threads * c.outputs; }
constexpr int tile_rows(const Config& c, bool summed) { return summed ? 1 : c.batches; }
// A row's steps each, and the filter's elements that an output tile and the steps are apart.
constexpr int tiled_smem_bytes(const Config& c, bool summed) {
  return static_cast<int>(sizeof(float)) * (tile_rows(c, summed) * tile_steps + tile_outputs(c) + tile_steps);
}

// Blocks of one sum: outputs of each channel, in tiles; `summed`: over the batch, as in w's gradient.
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

// ---- spectral ----------------------------------------------------------------------------------------------------

inline constexpr int fft_radix = 16;  // numbers of a thread
constexpr int fft_threads(int points) { return points / fft_radix; }
// Numbers in shared memory: one is left free behind every sixteen,
// so that lanes that are sixteen apart differ in banks.
constexpr int fft_place(int i) { return i + i / fft_radix; }
constexpr int fft_words(int points) { return fft_place(points); }
// Roots of unity in shared memory: four for each thread's place in a span, as long as spans are longer than a pass.
constexpr int fft_roots(int points) {
  int roots = 0;
  for (int span = points; span > fft_radix; span /= fft_radix) roots += 4 * (span / fft_radix);
  return roots;
}
constexpr bool as_threads_are(const Variant& row) {
  return row.config.points == 0 || row.config.threads == fft_threads(row.config.points);
}
static_assert(std::all_of(std::begin(variants), std::end(variants), as_threads_are));

// Complex numbers that are exchanged, roots, and the transform of the filter.
constexpr int spectral_smem_bytes(const Config& c) {
  return 2 * static_cast<int>(sizeof(float)) * (fft_words(c.points) + fft_roots(c.points) + c.points);
}

// Magnitudes that a transform serves, as exponents of a row's greatest. A row that is scaled: where scale and inverse
// are normal numbers. A sum over the batch, which is not: products of 2^14 elements, added up over 2^17 tiles and
// transformed back, stay below 2^127, and what is lost below 2^-149 is less than a rounding of the largest product.
inline constexpr int spectral_exponent = 100, least_summed_exponent = -60, most_summed_exponent = 30;

// What a block makes: `outputs` neighbours, from tiles of `steps` of p. A transform of N places has room for both where
// outputs + steps - 1 <= N. A filter of less than half of them needs no more than its own length beside the outputs:
// then the sum over its lags goes around where no output is.
struct SpectralTiles {
  int outputs, steps, lags;
  int pairs;            // of rows that one transform of the filter serves
  std::int64_t groups;  // of so many pairs
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

// ---- ring --------------------------------------------------------------------------------------------------------

constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }
// Complex numbers that are exchanged, those that rows are multiplied by, and the greatest magnitudes of warps' parts of
// two rows.
constexpr int ring_smem_bytes(const Config& c) {
  return 2 * static_cast<int>(sizeof(float)) * (fft_words(c.points) + c.points) +
         2 * static_cast<int>(sizeof(unsigned)) * (c.threads / 32);
}
// Rows of the batch that a block takes, for one transform of the filter: as many as leave a few blocks to each place
// for one, and equally many.
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
// Exponents of rows' greatest magnitudes, times up to sixteen. Of a filter: where scale and inverse are normal numbers.
// Of a row: times 2^13 values, times a scaled filter's, added up once more, it stays below 2^127.
inline constexpr int ring_filter_exponent = 100, ring_row_exponent = 90;

// ---- tensor: the convolution, and k's gradient ---------------------------------------------------------------------

inline constexpr int chunk = 64;  // steps at a time: a line of 128 bytes of 16-bit elements in shared memory
inline constexpr int line_bytes = 128;
inline constexpr int max_loaders = 256;                            // threads of a block that bring k
inline constexpr int sum_rows = 16, sum_cols = 8;                  // of one mma's sums
constexpr int parts(DType dtype) { return dtype == f32 ? 2 : 1; }  // 16-bit elements that an operand is
constexpr int tensor_batch(const Config& c) { return sum_cols * c.batches; }
constexpr int warp_outputs(const Config& c) { return sum_rows * c.row_tiles; }
constexpr int strip(const Config& c) { return c.threads / 32 * warp_outputs(c); }  // outputs of a block
// Lags that a chunk needs (strip + chunk), and those of the next one, which reach 8 entries to either side; as a power
// of two, so that their place is a mask.
constexpr int lag_ring(const Config& c) {
  int ring = 1;
  while (ring < strip(c) + 2 * chunk + 16) ring *= 2;
  return ring;
}
// A fragment is read as 16 rows, also where k has eight.
constexpr int line_rows(const Config& c, DType dtype) { return std::max(parts(dtype) * tensor_batch(c), 16); }
// Two chunks of k, four registers by lag, scales of rows for two chunks, a mark per row,
// and what a block's reduction takes.
constexpr int scratch_words = 32;
constexpr int tensor_smem_bytes(const Config& c, DType dtype) {
  return 2 * line_rows(c, dtype) * line_bytes +
         static_cast<int>(sizeof(float)) * (4 * parts(dtype) * lag_ring(c) + 3 * tensor_batch(c) + scratch_words);
}
constexpr std::int64_t strips(const Config& c, const DwconvProblem& p) { return ceil_div(p.time, strip(c)); }
constexpr std::int64_t tensor_grid(const Config& c, const DwconvProblem& p) {
  return p.channels * ceil_div(p.batch, tensor_batch(c)) * strips(c, p);
}

// ---- tensor: w's gradient -------------------------------------------------------------------------------------------

// A block makes one channel's, in bands of lags; each of its warps has 32 x 32 products of steps of dy and k.
inline constexpr int band_threads = 384, band_tile = 32;
inline constexpr int band_loaders = 256;  // of its threads; eight for each row of a chunk
inline constexpr int band_lags = band_threads / 32 * band_tile;
inline constexpr int band_rows = 32;  // of batch and of segments of time, summed by one pass of mma
inline constexpr int band_window = band_lags / chunk + 1;  // chunks of k that one of dy meets
inline constexpr int band_ring = band_window + 1;          // and the one on its way
inline constexpr int band_pitch = band_tile + 1;           // of a warp's products, when lags are added up
constexpr int part_bytes = band_rows * line_bytes;         // a chunk of one part
constexpr int band_stage_bytes(DType dtype) {
  return std::max((band_ring + 2) * parts(dtype) * part_bytes,
                  band_threads / 32 * band_tile * band_pitch * static_cast<int>(sizeof(float)));
}
// Chunks, or products that are added up; three words of each row; and the sums of all lags.
constexpr std::int64_t band_smem_bytes(const DwconvProblem& p) {
  return band_stage_bytes(p.dtype) + static_cast<std::int64_t>(sizeof(float)) * (3 * band_rows + lags(p));
}
// A batch of less than 32 is cut along time into as many segments, each a row of its own; in steps, whole chunks.
constexpr std::int64_t segments(const DwconvProblem& p) {
  return std::max<std::int64_t>(
      1, std::min<std::int64_t>(band_rows / std::max<std::int64_t>(p.batch, 1), ceil_div(p.time, 4 * chunk)));
}
constexpr std::int64_t segment_steps(const DwconvProblem& p) {
  return ceil_div(ceil_div(p.time, segments(p)), chunk) * chunk;
}

// ---- whole: rows of float32 that shared memory holds, on Hopper -----------------------------------------------------

inline constexpr int lines_bytes = 2 * part_bytes;  // of a chunk of 32 rows: lo and hi
inline constexpr int hi_lines = part_bytes;         // where hi begins
constexpr std::int64_t whole_chunks(const DwconvProblem& p) { return ceil_div(p.time, chunk); }
// Pairs of the filter's elements: a fragment begins up to 62 lags before the first one.
inline constexpr int first_pair = -chunk;
constexpr int pair_count(int chunks) { return chunks * chunk - first_pair; }
// k's chunks, pairs of each part, a scale of each row and chunk, two marks per row, the next filter, two barriers.
constexpr std::int64_t whole_smem_bytes(std::int64_t chunks) {
  return chunks * lines_bytes +
         static_cast<std::int64_t>(sizeof(float)) *
             (2 * (chunks * chunk - first_pair) + chunks * band_rows + 2 * band_rows + chunks * chunk) +
         2 * 8;
}
// What a channel and 32 rows of the batch are: an item of a block's.
constexpr std::int64_t whole_items(std::int64_t batch, std::int64_t channels) {
  return channels * ceil_div(batch, band_rows);
}
constexpr std::int64_t whole_grid(const Config& c, const DwconvProblem& p, int sms) {
  return std::min<std::int64_t>(whole_items(p.batch, p.channels), std::int64_t{sms} * c.blocks_per_sm);
}
// The block's reduction, and up to the next multiple of 1024, on which swizzled lines begin.
inline constexpr std::int64_t whole_static_bytes = 1024;

// w's gradient: all of a block's threads bring rows, which are in registers before a scale is known; three of its
// warpgroups multiply, so that twelve tiles of lags are equal work for each.
inline constexpr int whole_lags_threads = 512, whole_lags_summing = 3, most_whole_chunks = 12;
inline constexpr int staged_words = whole_lags_summing * 4 * (chunk / 8 + 1) * 64;
// dy's and k's chunks, diagonals on their way, two sums of each lag, magnitudes of rows and marks, two barriers.
constexpr std::int64_t whole_lags_smem_bytes(std::int64_t chunks) {
  return 2 * chunks * lines_bytes +
         static_cast<std::int64_t>(sizeof(float)) * (staged_words + 2 * chunks * chunk + 3 * band_rows) + 2 * 8;
}

}  // namespace ridge::dwconv_detail
