// Gradients for groups of one channel and one filter of a fixed size, channels innermost, and so their transposed
// convolution.
#pragma once
#include <ridge/conv/depthwise.hpp>

namespace ridge::conv_detail {

// A thread's part of dx is Config::rows neighbouring elements of a row. With first_j + left = stride m + phase, where
// first_j is the first one's column, element `o` meets column m - d of dy by tap o + phase + stride d. The least and
// the greatest d of any of them:
constexpr int gradient_least(int elements, int stride, int phase) { return -((elements - 1 + phase) / stride); }
constexpr int gradient_most(int size, int stride, int phase) { return (size - 1 - phase) / stride; }

namespace depthwise_gradient {

// A block has all rows of its filters, and so many strips of outputs at a time, for dw.
constexpr std::int64_t strips_of_block(const Config& c, const ConvProblem& p) {
  return c.threads / (grouped_vectors(p) * c.size);
}
// Blocks along the strips: the parts of dw's sums, which are added up in order.
inline std::int64_t parts_of(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  return std::max<std::int64_t>(
      1, std::min(ceil_div(grouped_strips(c, p), strips_of_block(c, p)), grouped_resident(c, p, device)));
}
// The strips of dx.
constexpr std::int64_t input_strips(const Config& c, const ConvProblem& p) {
  return p.x.shape[0] * p.x.shape[2] * ceil_div(p.x.shape[3], c.rows);
}
// Blocks along the strips of dx.
inline std::int64_t input_blocks(const Config& c, const ConvProblem& p, const DeviceInfo& device) {
  return std::min(ceil_div(input_strips(c, p), c.threads / grouped_vectors(p)), grouped_resident(c, p, device));
}
// Staging of the sums of a tap, of all threads.
constexpr int filter_smem_bytes(const Config& c, DType dtype) {
  return c.threads * grouped_vector(size_of(dtype)) * int{sizeof(float)};
}

inline std::string refuse_layouts(const ConvProblem& p) {
  if (p.alignment < 16 || p.x.shape[1] % grouped_vector(size_of(p.dtype)) != 0)
    return "channels are not whole pieces of 16 bytes, or addresses are not aligned to them";
  for (const Layout* t : {&p.y, has_dw(p) ? &p.x : nullptr, has_dx(p) ? &*p.dx : nullptr}) {
    if (!t) continue;
    if (!grouped::has_vectors_of_channels(*t, p.dtype))
      return "channels are not innermost, or pixels do not start on 16 bytes";
    if (reach_in_image(*t, p) >= int_range) return "offsets of 2^31 or more within an image";
  }
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const ConvGeometry& g = p.geometry;
  if (!p.backward) return "it is for gradients";
  if (channels_of_group(p) != 1 || filters_of_group(p) != 1) return "groups are not of one channel and one filter";
  if (p.w.shape[2] != c.size || p.w.shape[3] != c.size)
    return "filters are not " + std::to_string(c.size) + "x" + std::to_string(c.size);
  if (g.stride.h != g.stride.w || g.stride.w > depthwise_most_stride || g.dilation != ConvPair{})
    return "strides are not both 1 or both 2, or there is a dilation";
  if (p.y.count() == 0 || p.x.count() == 0) return no_products;
  if (std::string why = refuse_layouts(p); !why.empty()) return why;
  if (std::string why = grouped::refuse_sizes(c, p); !why.empty()) return why;
  constexpr std::int64_t most_of_a_side = std::int64_t{1} << 29;  // a sum of two, times a stride, is an int
  if (real(input_strips(c, p)) >= int_range / 2 ||
      std::max({p.x.shape[2], p.x.shape[3], g.pad.top, g.pad.left}) >= most_of_a_side)
    return "images of 2^29 rows or columns, or more than 2^30 pieces of work";
  return roofline::refuse_smem(std::max<std::int64_t>(grouped_smem_bytes(c, p), filter_smem_bytes(c, p.dtype)), device);
}

// Several launches: the footprint is the larger of dx's and dw's.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t columns = grouped_columns(p), parts = parts_of(c, p, device);
  const std::int64_t of_dx = has_dx(p) ? input_blocks(c, p, device) : 0, of_dw = has_dw(p) ? parts : 0;
  return {.grid = std::max(of_dx, of_dw) * columns,
          .threads = c.threads,
          .registers = roofline::registers_for(c.threads, c.blocks_per_sm),
          .smem = static_cast<int>(std::max<std::int64_t>(has_dx(p) ? grouped_smem_bytes(c, p) : 0,
                                                          has_dw(p) ? filter_smem_bytes(c, p.dtype) : 0)),
          .workspace = has_dw(p) ? static_cast<std::size_t>(parts * p.w.count()) * sizeof(float) : 0};
}

// As the forward kernels' model. Not fitted.
inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.blocks = std::max(1, device.sms) * c.blocks_per_sm;  // the resident ones; small problems have fewer
  const int stride = static_cast<int>(p.geometry.stride.w);
  const double vector = grouped_vector(size_of(p.dtype)), upcast = size_of(p.dtype) == 2 ? vector : 0;
  const double taps = real(taps_of(p));
  if (has_dx(p)) {  // per vector of dx: its taps' products, and the columns of dy that its strip meets
    const double met = taps / (stride * stride), columns = gradient_most(c.size, stride, 0) + c.rows / stride;
    const double instructions =
        vector * met * (1 + 0.25 / c.rows) + columns * c.size / stride / c.rows * (6 + upcast) + 30;
    k.clocks += real(p.x.count()) / 32 / vector * instructions / 4;
  }
  if (has_dw(p)) {  // per vector of dy, for each row of the filter: its products, x's columns and dy again
    const double inputs = real(depthwise_inputs(c.rows, c.size, stride)) / c.rows + 1;
    k.clocks += warps_of_outputs(p) / vector * (vector * taps + c.size * (inputs * (6 + upcast) + 30.0 / c.rows)) / 4;
    const double sums = 4.0 * real(parts_of(c, p, device)) * real(p.w.count());
    k.bytes_read += sums;
    k.bytes_written += sums;
  }
  k.block_us = start_us;
  k.launches = has_dx(p) + 2 * has_dw(p);
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace depthwise_gradient
}  // namespace ridge::conv_detail
