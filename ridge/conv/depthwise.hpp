// Groups of one channel and one filter of a fixed size, channels innermost: a row of inputs is loaded once for all the
// neighbouring outputs of a thread that it meets.
#pragma once
#include <ridge/conv/grouped.hpp>

namespace ridge::conv_detail {

// Neighbouring inputs of a row that `outputs` neighbouring outputs meet.
constexpr int depthwise_inputs(int outputs, int size, int stride) { return (outputs - 1) * stride + size; }
inline constexpr int depthwise_most_stride = 2;  // strides 1 to 2 are instantiated

namespace depthwise {

// For rows whose filters are of Config::size.
inline std::string refuse_filters(const Config& c, const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  if (p.w.shape[2] != c.size || p.w.shape[3] != c.size)
    return "filters are not " + std::to_string(c.size) + "x" + std::to_string(c.size);
  if (g.stride.h != g.stride.w || g.stride.w > depthwise_most_stride || g.dilation != ConvPair{})
    return "strides are not both 1 or both 2, or there is a dilation";
  return {};
}

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  if (std::string why = refuse_filters(row.config, s.problem); !why.empty()) return why;
  return grouped::fits(row, s, device);
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(grouped::footprint(row, s, device), p);
  k.blocks = std::max(1, device.sms) * c.blocks_per_sm;  // the resident ones; small problems have fewer
  // Per vector of outputs: its products; its share of the inputs, which are loaded and upcast, and of the filters.
  const double vector = grouped_vector(size_of(p.dtype)), upcast = size_of(p.dtype) == 2 ? vector : 0;
  const double inputs = real(depthwise_inputs(c.rows, c.size, static_cast<int>(p.geometry.stride.w))) * c.size / c.rows;
  const double instructions = vector * real(taps_of(p)) * (1 + 0.25 / c.rows) + inputs * (6 + upcast) + 30;
  k.clocks = grouped::waits * warps_of_outputs(p) / vector * instructions / 4;
  k.block_us = start_us + grouped::row_us * c.size;
  return k;
}

inline std::string_view lesson(const Variant&) { return "tiling"; }

inline constexpr Family family{fits, grouped::footprint, model, lesson};

}  // namespace depthwise
}  // namespace ridge::conv_detail
