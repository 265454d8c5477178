// Groups of one channel and one filter of a fixed size, NCHW: planes, or bands of a plane's rows, in shared memory.
#pragma once
#include <ridge/conv/depthwise.hpp>

namespace ridge::conv_detail {

// How blocks share planes: each has `planes` whole ones, or a band of one. A thread's piece of work is Config::rows
// outputs one below the other.
struct PlaneTiles {
  std::int64_t planes = 1;  // of a block
  std::int64_t strips = 1;  // of Config::rows rows of outputs, in a band
  std::int64_t bands = 1;   // of a plane
};
inline constexpr std::int64_t enough_blocks = 264;      // to keep a device busy: two for each of 132 multiprocessors
inline constexpr std::int64_t plane_bytes = 24 * 1024;  // of a block's inputs: several blocks share a multiprocessor

constexpr std::int64_t plane_count(const ConvProblem& p) { return p.y.shape[0] * p.y.shape[1]; }
// Rows of inputs that `strips` strips of outputs meet.
constexpr std::int64_t band_rows(const Config& c, const ConvProblem& p, std::int64_t strips) {
  return (strips * c.rows - 1) * p.geometry.stride.h + c.size;
}
constexpr std::int64_t rows_bytes(const ConvProblem& p, std::int64_t rows) {
  return rows * p.x.shape[3] * static_cast<std::int64_t>(size_of(p.dtype));
}

constexpr PlaneTiles plane_tiles(const Config& c, const ConvProblem& p) {
  const std::int64_t strips = ceil_div(p.y.shape[2], c.rows), columns = p.y.shape[3], planes = plane_count(p);
  const std::int64_t whole_plane = rows_bytes(p, p.x.shape[2]);
  if (whole_plane <= plane_bytes && strips * columns <= 2 * c.threads) {
    const std::int64_t fit = std::max<std::int64_t>(1, plane_bytes / std::max<std::int64_t>(whole_plane, 1)),
                       most = 2 * c.threads / std::max<std::int64_t>(strips * columns, 1);
    // Few planes are spread over all multiprocessors first.
    return {.planes = std::clamp<std::int64_t>(std::min(most, planes / enough_blocks), 1, fit), .strips = strips};
  }
  // The band that wastes fewest threads and rows read twice.
  PlaneTiles best{.strips = 1, .bands = strips};
  double least = 0;
  for (std::int64_t n = 1; n <= std::min<std::int64_t>(strips, 16); ++n) {
    const std::int64_t pieces = n * columns, bands = ceil_div(strips, n);
    if (n > 1 && (planes * bands < enough_blocks || rows_bytes(p, band_rows(c, p, n)) > plane_bytes)) break;
    const double threads = static_cast<double>(ceil_div(pieces, c.threads) * c.threads * bands),
                 rows = static_cast<double>(band_rows(c, p, n) * bands), cost = threads + 0.5 * rows;
    if (n == 1 || cost < least) least = cost, best = {.planes = 1, .strips = n, .bands = bands};
  }
  return best;
}

// The filters of a block's planes, then their inputs, which begin where they begin in a vector of 16 bytes.
constexpr std::int64_t planes_filter_bytes(const Config& c, const PlaneTiles& t) {
  return ceil_div(t.planes * c.size * c.size * std::int64_t{sizeof(float)}, 16) * 16;
}
constexpr std::int64_t planes_smem_bytes(const Config& c, const ConvProblem& p, const PlaneTiles& t) {
  const std::int64_t rows = std::min(p.x.shape[2], t.bands == 1 ? p.x.shape[2] : band_rows(c, p, t.strips));
  return planes_filter_bytes(c, t) + t.planes * rows_bytes(p, rows) + 2 * 16;
}

namespace depthwise_planes {

constexpr std::int64_t grid_of(const ConvProblem& p, const PlaneTiles& t) {
  return ceil_div(plane_count(p), t.planes) * t.bands;
}

// Whether x's planes follow one another, without gaps.
constexpr bool are_dense(const Layout& x) {
  const std::int64_t rows = x.shape[3], plane = rows * x.shape[2], image = plane * x.shape[1];
  return (x.stride[3] == 1 || x.shape[3] == 1) && (x.stride[2] == rows || x.shape[2] == 1) &&
         (x.stride[1] == plane || x.shape[1] == 1) && (x.stride[0] == image || x.shape[0] == 1);
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.backward) return no_gradients;
  if (channels_of_group(p) != 1 || filters_of_group(p) != 1) return "groups are not of one channel and one filter";
  if (std::string why = depthwise::refuse_filters(c, p); !why.empty()) return why;
  if (!are_dense(p.x)) return "x's planes are not one after the other, without gaps";
  if (real(p.x.shape[2]) * real(p.x.shape[3]) >= int_range / 4 || reach_in_image(p.y, p) >= int_range)
    return "planes of 2^29 elements";
  if (std::string why = refuse_large_planes(p); !why.empty()) return why;
  if (real(plane_count(p)) * real(ceil_div(p.y.shape[2], c.rows)) >= int_range / 2) return "more than 2^30 blocks";
  const std::int64_t smem = planes_smem_bytes(c, p, plane_tiles(c, p));
  return roofline::refuse_smem(static_cast<int>(std::min<std::int64_t>(smem, 1 << 30)), device);
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const PlaneTiles t = plane_tiles(c, s.problem);
  return {.grid = grid_of(s.problem, t),
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = static_cast<int>(planes_smem_bytes(c, s.problem, t))};
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const PlaneTiles t = plane_tiles(c, p);
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  // Of a piece: its products; its inputs, which are read one by one and upcast; and its outputs.
  const Activation activation = p.epilogue.activation;
  const double of_output = activation == Activation::none || activation == Activation::relu ? 20 : 35;
  const double inputs = real(depthwise_inputs(c.rows, c.size, static_cast<int>(p.geometry.stride.h)) * c.size);
  const double instructions = real(c.rows) * (real(c.size * c.size) + of_output) + inputs * 2.5 + c.size * c.size + 40;
  const double pieces = real(ceil_div(t.planes * t.strips * p.y.shape[3], c.threads) * c.threads) *
                        real(grid_of(p, t));  // with those of idle threads
  constexpr double waits = 2.2;               // of reads, with few warps to multiply meanwhile; H200
  k.clocks = waits * pieces / 32 * instructions / 4;
  k.block_us = 2 * start_us;  // its loads, and code that is executed for the first time
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace depthwise_planes
}  // namespace ridge::conv_detail
