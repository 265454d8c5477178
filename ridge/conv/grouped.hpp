// Groups of few channels, channels innermost: a thread has contiguous channels of neighbouring outputs, and the filters
// of a block's channels stay in shared memory.
#pragma once
#include <ridge/conv/problem.hpp>

namespace ridge::conv_detail {

constexpr int grouped_vector(std::size_t element_bytes) { return static_cast<int>(16 / element_bytes); }  // channels
// Vectors of a block: lines of 128 bytes, or all there are. More would be more filters to wait for before the first
// product.
inline constexpr std::int64_t grouped_most_vectors = 8;
constexpr std::int64_t grouped_vectors(const ConvProblem& p) {
  const std::int64_t all = ceil_div(p.x.shape[1], grouped_vector(size_of(p.dtype)));
  return ceil_div(all, ceil_div(all, grouped_most_vectors));  // as many in each block
}
// Blocks side by side, which cover all channels.
constexpr std::int64_t grouped_columns(const ConvProblem& p) {
  return ceil_div(p.x.shape[1] / grouped_vector(size_of(p.dtype)), grouped_vectors(p));
}
// A block's filters in shared memory: for each tap and channel of a group `pitch` floats, of all vectors their first
// four, then of all their next four. So lanes, which have a vector each, read neighbouring pieces of 16 bytes; and as
// four floats are left free, taps, which lanes write, are not all in one bank.
struct FilterPlaces {
  int vectors, pitch;
  RIDGE_HD constexpr FilterPlaces(int of_block, int vector) : vectors(of_block), pitch(of_block * vector + 4) {}
  RIDGE_HD constexpr int of_four(int vector, int four) const { return (four * vectors + vector) * 4; }
};
constexpr std::int64_t grouped_smem_bytes(const Config& c, const ConvProblem& p) {
  const FilterPlaces places(static_cast<int>(grouped_vectors(p)), grouped_vector(size_of(p.dtype)));
  return places.pitch * taps_of(p) * c.filters * std::int64_t{sizeof(float)};
}
// Blocks along the strips that the device has at a time.
inline std::int64_t grouped_resident(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  return ceil_div(std::max<std::int64_t>(device.sms, 1) * c.blocks_per_sm, grouped_columns(p));
}
constexpr std::int64_t grouped_strips(const Config& c, const ConvProblem& p) {
  return p.y.shape[0] * p.y.shape[2] * ceil_div(p.y.shape[3], c.rows);
}

namespace grouped {

// Whether channels are innermost and pixels start on 16 bytes, as the tensor's address does.
inline bool has_vectors_of_channels(const Layout& t, DType dtype) {
  const std::int64_t vector = grouped_vector(size_of(dtype));
  if (t.stride[1] != 1) return false;
  for (const int axis : {0, 2, 3})
    if (t.shape[axis] > 1 && t.stride[axis] % vector != 0) return false;
  return true;
}

inline std::string refuse_layouts(const ConvProblem& p) {
  const Layout &x = p.x, &y = p.y;
  if (p.alignment < 16 || x.shape[1] % grouped_vector(size_of(p.dtype)) != 0)
    return "channels are not whole pieces of 16 bytes, or addresses are not aligned to them";
  if (!has_vectors_of_channels(x, p.dtype) || !has_vectors_of_channels(y, p.dtype))
    return "channels are not innermost, or pixels do not start on 16 bytes";
  if (reach_in_image(x, p) >= int_range || reach_in_image(y, p) >= int_range)
    return "offsets of 2^31 or more within an image";
  return {};
}

inline std::string refuse_sizes(const Config& c, const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const std::int64_t extent = std::max((p.w.shape[2] - 1) * g.dilation.h, (p.w.shape[3] - 1) * g.dilation.w);
  if (real(p.y.shape[2]) * real(g.stride.h) + real(extent) >= int_range / 2 ||
      real(p.y.shape[3] + c.rows) * real(g.stride.w) + real(extent) >= int_range / 2)
    return "images of 2^30 rows or columns";
  const std::int64_t vectors = p.x.shape[1] / grouped_vector(size_of(p.dtype));
  if (real(grouped_strips(c, p)) >= int_range / 2 || vectors > grouped_most_vectors * max_grid_y)
    return "more than 2^30 pieces of work";
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  if (p.backward) return no_gradients;
  if (channels_of_group(p) != c.filters || filters_of_group(p) != c.filters)
    return "groups are not of " + std::to_string(c.filters) + " channels and as many filters";
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (std::string why = refuse_sizes(c, p); !why.empty()) return why;
  if (taps_of(p) > device.smem_optin) return "filters larger than shared memory";
  return roofline::refuse_smem(grouped_smem_bytes(c, p), device);
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t strips_of_block = c.threads / grouped_vectors(p);
  return {.grid = std::min(ceil_div(grouped_strips(c, p), strips_of_block), grouped_resident(c, p, device)) *
                  grouped_columns(p),
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = static_cast<int>(grouped_smem_bytes(c, p))};
}

// A strip's rows of loads wait for memory, one after the other, with few warps to multiply meanwhile: a factor of the
// clocks counted, and of a block for each row of filters. H200, depthwise filters of 3x3 to 7x7 in
// bench/results/h200/conv2d_rows.json, and the rows of this family in conv2d_kernels.json.
inline constexpr double waits = 2, row_us = 1;

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.blocks = std::max(1, device.sms) * c.blocks_per_sm;  // the resident ones; small problems have fewer
  // Per tap and vector: the address, the upcast and the products; filters are read once for all outputs.
  const double vector = grouped_vector(size_of(p.dtype)), groups = c.filters;
  const double vectors = warps_of_outputs(p) / vector * real(taps_of(p));
  k.clocks = waits * (vectors / 4 * (12 + vector * (groups + 1) + vector * groups / c.rows) +
                      warps_of_outputs(p) / vector * 30);
  k.block_us = start_us + row_us * real(p.w.shape[2]);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace grouped
}  // namespace ridge::conv_detail
