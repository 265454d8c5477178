// Groups of one channel and one filter of a fixed size, channels innermost, down the rows: a thread has two channels of
// some neighbouring columns, and sums of all rows of outputs that a row of inputs meets. So each row of inputs is
// loaded once for all of them. The next ones are on their way meanwhile, into a ring in shared memory that is the
// thread's own: in registers they would be too few bytes in flight.
#pragma once
#include <ridge/conv/depthwise.hpp>

namespace ridge::conv_detail {

inline constexpr int row_channels = 2;  // of a thread: a lane's access is a word of 16-bit types
// Rows of outputs that a row of inputs meets at most.
constexpr int depthwise_live_rows(int size, int stride) { return (size + stride - 1) / stride; }

namespace depthwise_rows {

inline constexpr std::int64_t most_pairs = 64;  // pairs of channels of a block: lines of 256 bytes
constexpr std::int64_t pairs_of_block(const ConvProblem& p) {
  const std::int64_t all = ceil_div(p.x.shape[1], row_channels);
  return ceil_div(all, ceil_div(all, most_pairs));  // as many in each block
}
constexpr std::int64_t block_columns(const ConvProblem& p) {
  return ceil_div(ceil_div(p.x.shape[1], row_channels), pairs_of_block(p));
}
// Filters of this size stay in shared memory: their elements are more than a thread has registers for.
constexpr bool keeps_filters(const Config& c) { return c.size * c.size * row_channels <= 64; }
constexpr std::int64_t filter_bytes(const Config& c, const ConvProblem& p) {
  return keeps_filters(c) ? 0 : taps_of(p) * pairs_of_block(p) * row_channels * std::int64_t{sizeof(float)};
}
// Rows of inputs in a thread's ring, one of which is read: with 3 x 3 a multiprocessor has 55 KB on their way.
inline constexpr int ring_rows = 4;
constexpr std::int64_t smem_bytes(const Config& c, const ConvProblem& p) {
  return filter_bytes(c, p) + std::int64_t{ring_rows} * c.threads * row_channels *
                                  depthwise_inputs(c.rows, c.size, static_cast<int>(p.geometry.stride.w)) *
                                  static_cast<std::int64_t>(size_of(p.dtype));
}

// How outputs are cut into pieces of `rows` rows and Config::rows columns, each of which is a thread's.
struct Cut {
  std::int64_t rows = 1, down = 1, across = 1, blocks = 1;  // pieces of an image; blocks side by side in the grid's x
};
inline Cut cut_by(const Config& c, const ConvProblem& p, std::int64_t rows) {
  Cut cut{.rows = rows};
  cut.down = ceil_div(p.y.shape[2], rows);
  cut.across = ceil_div(p.y.shape[3], c.rows);
  cut.blocks = ceil_div(p.y.shape[0] * cut.down * cut.across, c.threads / pairs_of_block(p));
  return cut;
}
// Pieces of many rows load few inputs twice; of few rows, they fill the device. A step is a row of outputs.
inline Cut best_cut(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  constexpr double start_steps = 4;  // of a block: its filters, and the first rows' loads
  const std::int64_t live = depthwise_live_rows(c.size, static_cast<int>(p.geometry.stride.h));
  const double resident = real(std::max(device.sms, 1) * c.blocks_per_sm);
  Cut best;
  double least = 0;
  for (std::int64_t down = 1; down <= std::min<std::int64_t>(p.y.shape[2], 64); ++down) {
    const Cut cut = cut_by(c, p, ceil_div(p.y.shape[2], down));
    const double blocks = real(cut.blocks * block_columns(p));
    // Blocks follow one another without waves, but the last ones end alone.
    const double work = std::max(1.0, blocks / resident + 0.5) * (real(cut.rows + live - 1) + start_steps);
    if (least == 0 || work < least) best = cut, least = work;
  }
  return best;
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (std::string why = depthwise::refuse_filters(c, p); !why.empty()) return why;
  if (std::string why = grouped::fits(row, s, device); !why.empty()) return why;
  if (p.y.count() == 0) return no_products;
  const std::int64_t reached = std::max(p.y.shape[2], p.y.shape[3]) + most_pairs + c.size;
  if (std::max({p.geometry.pad.top, p.geometry.pad.left, reached * p.geometry.stride.h}) >= 1 << 29)
    return "images of 2^29 rows or columns";
  if (std::string why = roofline::refuse_smem(smem_bytes(c, p), device); !why.empty()) return why;
  if (block_columns(p) > max_grid_y || real(pixels_of(p)) + real(p.x.shape[0]) * 256 >= int_range / 2)
    return "more than 2^30 pieces of work";
  return {};
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  return {.grid = best_cut(c, p, device).blocks * block_columns(p),
          .threads = c.threads,
          .registers = 65536 / (c.threads * c.blocks_per_sm) / 8 * 8,
          .smem = static_cast<int>(smem_bytes(c, p))};
}

// Counted in the source, not yet fitted. Per row of outputs of a piece and pair of channels: products; inputs, with
// their addresses, checks and upcasts; sums that move on by a row; filters, where they are in shared memory; stores.
inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  constexpr double store_instructions = 7, activation_instructions = 14;  // of an output's two channels
  constexpr double share = 0.85;                                          // of memory's rate: a copy's
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const int stride = static_cast<int>(p.geometry.stride.h), live = depthwise_live_rows(c.size, stride);
  const Cut cut = best_cut(c, p, device);
  const double inputs = real(depthwise_inputs(c.rows, c.size, stride)) * stride, upcast = size_of(p.dtype) == 2 ? 2 : 0;
  const bool active = p.epilogue.activation != Activation::none && p.epilogue.activation != Activation::relu;
  const double instructions = real(taps_of(p)) * c.rows * row_channels + inputs * (5 + upcast) +
                              real(live - 1) * c.rows * row_channels + (keeps_filters(c) ? 0 : real(taps_of(p))) +
                              c.rows * (store_instructions + (active ? activation_instructions : 0)) + 20;
  const double pieces = real(p.y.shape[0] * cut.down * cut.across) * real(p.x.shape[1]) / row_channels / 32;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.clocks = pieces * real(cut.rows + live - 1) * instructions / 4;
  constexpr double filters_us = 1;  // which are not neighbours in memory
  k.block_us = start_us + filters_us;
  k.memory_share = share;
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace depthwise_rows
}  // namespace ridge::conv_detail
