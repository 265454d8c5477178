// The table of dwconv's kernels, and the facts that plan and kernels share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/dwconv/dwconv.hpp>

#include <algorithm>

namespace ridge::dwconv_detail {

enum class Method : std::uint8_t {
  element,   // a thread per output, operands from memory
  tiled,     // tiles of both operands in shared memory
  spectral,  // tiles of both operands, multiplied in the frequency domain
  ring,      // whole rows, multiplied in the frequency domain
  tensor,    // tensor cores, by mma.sync
  whole,     // tensor cores, by wgmma, with whole rows in shared memory
};

struct Config {
  Method method = Method::element;
  int threads = 256;
  int outputs = 1;        // tiled: neighbouring outputs of a thread
  int batches = 1;        // tiled: rows of k that share a filter in a block; tensor, whole: groups of eight such rows
  bool paired = false;    // tiled: a block takes the i-th tile from both ends, so that all have equal work
  int row_tiles = 2;      // tensor: a warp's tiles of 16 outputs
  int blocks_per_sm = 2;  // spectral, ring, tensor, whole: minimum occupancy, for __launch_bounds__
  int points = 0;         // spectral, ring: of a transform; sixteen per thread
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output; any strides", {}},
    {"shared", "tiles of k and of the filter in shared memory", {.method = Method::tiled}},
    {"float4", "four outputs per thread: a filter's elements stay in registers as a sliding window", {.method = Method::tiled, .threads = 64, .outputs = 4}},
    {"batched", "one filter's registers serve four rows of k", {.method = Method::tiled, .threads = 64, .outputs = 4, .batches = 4}, Role::lesson},
    {"balanced", "eight rows of k, and an early and a late tile for every block: equal work", {.method = Method::tiled, .threads = 64, .outputs = 4, .batches = 8, .paired = true}},
    {"fft_1024", "by Fourier transforms of 1,024 points, two rows of k in one", {.method = Method::spectral, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_8192", "of 8,192 points: fewer tiles of a long row meet", {.method = Method::spectral, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"fft_row_1024", "whole rows of up to 1,024 steps, by as many values", {.method = Method::ring, .threads = 64, .blocks_per_sm = 8, .points = 1024}},
    {"fft_row_2048", "of up to 2,048 steps", {.method = Method::ring, .threads = 128, .blocks_per_sm = 4, .points = 2048}},
    {"fft_row_4096", "of up to 4,096 steps", {.method = Method::ring, .threads = 256, .blocks_per_sm = 2, .points = 4096}},
    {"fft_row_8192", "of up to 8,192 steps, by one exchange more", {.method = Method::ring, .threads = 512, .blocks_per_sm = 1, .points = 8192}},
    {"tensor_8", "the filter as a Toeplitz matrix on tensor cores, eight rows of k", {.method = Method::tensor, .batches = 1, .row_tiles = 4}},
    {"tensor_32", "32 rows of k: a fragment of the filter serves four products", {.method = Method::tensor, .batches = 4}},
    {"whole_32", "32 whole rows of k in shared memory, the filter's fragments in registers: Hopper's wgmma", {.method = Method::whole, .batches = 4}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr std::int64_t lags(const DwconvProblem& p) { return std::min(p.taps, p.time); }  // lags with terms

// ---- tiled -------------------------------------------------------------------------------------------------------

inline constexpr int tile_steps = 64;  // of the sum, in shared memory at a time
constexpr int tile_outputs(const Config& c) { return c.threads * c.outputs; }
constexpr int tile_rows(const Config& c, bool summed) { return summed ? 1 : c.batches; }
// The rows' steps, and the window of the filter between an output tile and the steps.
constexpr int tiled_smem_bytes(const Config& c, bool summed) {
  return static_cast<int>(sizeof(float)) * (tile_rows(c, summed) * tile_steps + tile_outputs(c) + tile_steps);
}

// Tiles of a channel's outputs, or pairs of tiles. `summed`, below: over the batch, as in w's gradient.
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

inline constexpr int fft_radix = 16;  // numbers per thread
constexpr int fft_threads(int points) { return points / fft_radix; }
// Padded index in shared memory: one number of padding after every sixteen,
// so that lanes with a stride of sixteen use different banks.
constexpr int fft_padded(int i) { return i + i / fft_radix; }
constexpr int fft_words(int points) { return fft_padded(points); }
// Twiddle factors in shared memory: four for each thread's position in a span, while spans are longer than the radix.
constexpr int fft_twiddles(int points) {
  int count = 0;
  for (int span = points; span > fft_radix; span /= fft_radix) count += 4 * (span / fft_radix);
  return count;
}
constexpr bool as_threads_are(const Variant& row) {
  return row.config.points == 0 || row.config.threads == fft_threads(row.config.points);
}
static_assert(std::all_of(std::begin(variants), std::end(variants), as_threads_are));

// The exchange buffer, the twiddle factors, and the transform of the filter.
constexpr int spectral_smem_bytes(const Config& c) {
  return 2 * static_cast<int>(sizeof(float)) * (fft_words(c.points) + fft_twiddles(c.points) + c.points);
}

// The range of a transform, as exponents of a row's greatest magnitude. For a scaled row: scale and inverse are normal
// numbers. For a sum over the batch, without scale: products of 2^14 elements, added up over 2^17 tiles and transformed
// back, stay below 2^127, and underflow below 2^-149 is less than a rounding of the largest product.
inline constexpr int spectral_exponent = 100, least_summed_exponent = -60, most_summed_exponent = 30;

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

// ---- ring --------------------------------------------------------------------------------------------------------

constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }
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

// ---- tensor: the convolution, and k's gradient ---------------------------------------------------------------------

inline constexpr int chunk = 64;  // steps at a time: a line of 128 bytes of 16-bit elements in shared memory
inline constexpr int line_bytes = 128;
inline constexpr int max_load_threads = 256;                            // threads of a block that load k
inline constexpr int sum_rows = 16, sum_cols = 8;                       // of one mma's accumulators
constexpr int components(DType dtype) { return dtype == f32 ? 2 : 1; }  // 16-bit components of an operand
constexpr int tensor_batch(const Config& c) { return sum_cols * c.batches; }
constexpr int warp_outputs(const Config& c) { return sum_rows * c.row_tiles; }
constexpr int strip(const Config& c) { return c.threads / 32 * warp_outputs(c); }  // outputs of a block
// The ring of lags: those of a chunk (strip + chunk), and those of the next one, which reach 8 entries to either side;
// a power of two, so that the index wraps by a mask.
constexpr int lag_ring(const Config& c) {
  int ring = 1;
  while (ring < strip(c) + 2 * chunk + 16) ring *= 2;
  return ring;
}
// A fragment is read as 16 rows, even if k has eight.
constexpr int line_rows(const Config& c, DType dtype) { return std::max(components(dtype) * tensor_batch(c), 16); }
// Two chunks of k, four registers per lag, scales of rows for two chunks, a mark per row,
// and the scratch of a block's reduction.
constexpr int scratch_words = 32;
constexpr int tensor_smem_bytes(const Config& c, DType dtype) {
  return 2 * line_rows(c, dtype) * line_bytes +
         static_cast<int>(sizeof(float)) * (4 * components(dtype) * lag_ring(c) + 3 * tensor_batch(c) + scratch_words);
}
constexpr std::int64_t strips(const Config& c, const DwconvProblem& p) { return ceil_div(p.time, strip(c)); }
constexpr std::int64_t tensor_grid(const Config& c, const DwconvProblem& p) {
  return p.channels * ceil_div(p.batch, tensor_batch(c)) * strips(c, p);
}

// ---- tensor: w's gradient -------------------------------------------------------------------------------------------

// A block has one channel, in bands of lags; each warp has 32 x 32 products of steps of dy and k.
inline constexpr int band_threads = 384, band_tile = 32;
inline constexpr int band_load_threads = 256;  // threads that load; eight for each row of a chunk
inline constexpr int band_lags = band_threads / 32 * band_tile;
inline constexpr int band_rows = 32;  // rows of the batch and of time segments, summed in one pass of mma
inline constexpr int band_window = band_lags / chunk + 1;  // chunks of k that a chunk of dy meets
inline constexpr int band_ring = band_window + 1;          // and the one in flight
inline constexpr int band_pitch = band_tile + 1;           // of a warp's products, when diagonals are summed
constexpr int component_bytes = band_rows * line_bytes;    // a chunk of one component
constexpr int band_stage_bytes(DType dtype) {
  return std::max((band_ring + 2) * components(dtype) * component_bytes,
                  band_threads / 32 * band_tile * band_pitch * static_cast<int>(sizeof(float)));
}
// Chunks, or products when diagonals are summed; three words per row; and the sums of all lags.
constexpr std::int64_t band_smem_bytes(const DwconvProblem& p) {
  return band_stage_bytes(p.dtype) + static_cast<std::int64_t>(sizeof(float)) * (3 * band_rows + lags(p));
}
// A batch of less than 32 is split along time into segments, each a row of its own; their steps are whole chunks.
constexpr std::int64_t segments(const DwconvProblem& p) {
  return std::max<std::int64_t>(
      1, std::min<std::int64_t>(band_rows / std::max<std::int64_t>(p.batch, 1), ceil_div(p.time, 4 * chunk)));
}
constexpr std::int64_t segment_steps(const DwconvProblem& p) {
  return ceil_div(ceil_div(p.time, segments(p)), chunk) * chunk;
}

// ---- whole: rows of float32 in shared memory, on Hopper -------------------------------------------------------------

inline constexpr int lines_bytes = 2 * component_bytes;  // of a chunk of 32 rows: lo and hi
inline constexpr int hi_lines = component_bytes;         // offset of hi
constexpr std::int64_t whole_chunks(const DwconvProblem& p) { return ceil_div(p.time, chunk); }
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
constexpr std::int64_t whole_grid(const Config& c, const DwconvProblem& p, int sms) {
  return std::min<std::int64_t>(whole_items(p.batch, p.channels), std::int64_t{sms} * c.blocks_per_sm);
}
// The block's reduction, and padding to a multiple of 1024, the alignment of swizzled lines.
inline constexpr std::int64_t whole_static_bytes = 1024;

// w's gradient: all threads of a block load rows, which stay in registers until a scale is known; three of its
// warpgroups multiply, so that twelve tiles of lags are equal work for each.
inline constexpr int whole_lags_threads = 512, whole_lags_summing = 3, most_whole_chunks = 12;
inline constexpr int staged_words = whole_lags_summing * 4 * (chunk / 8 + 1) * 64;
// dy's and k's chunks, the staging of diagonals, two sums per lag, magnitudes of rows and marks, two barriers.
constexpr std::int64_t whole_lags_smem_bytes(std::int64_t chunks) {
  return 2 * chunks * lines_bytes +
         static_cast<std::int64_t>(sizeof(float)) * (staged_words + 2 * chunks * chunk + 3 * band_rows) + 2 * 8;
}

}  // namespace ridge::dwconv_detail
