// Gradients on Hopper's tensor cores: dx as a convolution of dy, and the filter gradient as a product of its own.
#pragma once
#include <ridge/conv/sm90_gathering.hpp>
#include <ridge/gemm/sm90_wgmma.hpp>

namespace ridge::conv_detail {

inline constexpr int gradient_group = 64;  // channels at a time
// The filter gradient's tile, for all rows: the product's rows are filters, its columns groups of 64 channels of a tap.
constexpr gemm_kernels::Config filter_gradient_tile() {
  gemm_kernels::Config tile;
  tile.family = gemm_kernels::Family::wgmma;
  tile.bm = 128;
  tile.bn = 256;
  tile.bk = gradient_group;
  tile.stages = 4;
  tile.schedule = gemm_kernels::Schedule::cooperative;
  tile.persistent = true;
  return tile;
}
constexpr std::int64_t filter_gradient_columns(const ConvProblem& p) {
  return taps_of(p) * ceil_div(channels_of_group(p), gradient_group) * gradient_group;
}
// The number of parts that minimises the waves of tiles plus the time of moving the parts' sums: in the time of a step,
// a multiprocessor moves bytes_of_step bytes of them, its share of the memory bandwidth.
inline int filter_gradient_split(const ConvProblem& p, int sms) {
  constexpr gemm_kernels::Config tile = filter_gradient_tile();
  constexpr std::int64_t most = 64, bytes_of_step = 4096;
  constexpr std::int64_t bytes_of_sum = 8, start = 8;  // written and read; a tile's fixed cost in steps
  const std::int64_t steps = ceil_div(pixels_of(p), gradient_group);
  const std::int64_t tiles = ceil_div(p.w.shape[0], tile.bm) * ceil_div(filter_gradient_columns(p), tile.bn);
  const std::int64_t resident = std::max(sms, 1);
  std::int64_t best = 1, least = 0;
  for (std::int64_t parts = 1; parts <= std::min(most, steps); ++parts) {
    const std::int64_t waves = ceil_div(tiles * parts, resident);
    const std::int64_t time =
        waves * (ceil_div(steps, parts) + start) + bytes_of_sum * parts * p.w.count() / resident / bytes_of_step;
    if (parts == 1 || time < least) best = parts, least = time;
  }
  return static_cast<int>(best);
}

// dx of one phase of the stride: a convolution of dy with the copied filters, [taps, channels of x, filters].
// Preconditions: dy has filters innermost and its pixels start on 16 bytes; the phase has elements.
constexpr Gathering gradient_gathering(const ConvProblem& p, const AxisMap& h, const AxisMap& w) {
  const std::int64_t filters = p.w.shape[0], channels = p.w.shape[1];
  // Taps go backwards: the last tap is the walk's first.
  const auto walk = [](const AxisMap& m, std::int64_t pitch) -> Walk {
    const std::int64_t first = m.taps > 0 ? m.shift + m.step * (m.taps - 1) : 0;
    return {.pixels = m.inputs,
            .pitch = pitch,
            .first = first,
            .beyond = m.outputs + first - m.inputs,
            .step = 1,
            .taps = std::max<std::int64_t>(m.taps, 1),
            .tap = -m.step};
  };
  Gathering g{.channels = filters, .h = walk(h, p.y.stride[2]), .w = walk(w, p.y.stride[3]), .images = p.y.shape[0]};
  g.is_empty = h.taps == 0 || w.taps == 0;
  if (g.is_empty) g.h.taps = g.w.taps = 1;
  g.image_pitch = p.y.stride[0];
  g.filter_pitch = filters;
  g.tap_pitch = channels * filters;
  g.filter_taps = taps_of(p);
  const auto tap = [&](std::int64_t a, std::int64_t b) {
    return static_cast<int>((h.first_tap + a * h.tap_pitch) * p.w.shape[3] + w.first_tap + b * w.tap_pitch);
  };
  if (!g.is_empty)
    g.order = {.first = tap(h.taps - 1, w.taps - 1),
               .across = -static_cast<int>(w.tap_pitch),
               .down = tap(0, 0) - tap(1, 0) + static_cast<int>(w.taps * w.tap_pitch)};
  return g;
}

// Phases of the stride that are alike: as many elements of dx along each axis in all of them, which meet as many taps.
// They are one launch, by the walk of the first of them along each axis, `least`; the others' taps begin `offset`
// pixels further.
inline constexpr int most_alike = 8;  // along an axis
struct AlikePhases {
  bool exist = false;
  int phases[2] = {1, 1};                                   // along h and w
  int offset[2][most_alike] = {}, tap[2][most_alike] = {};  // tap: added to the walk's first, in the filters' order
  AxisMap least[2] = {};
};
constexpr AlikePhases alike_phases(const ConvProblem& p) {
  AlikePhases all;
  const Axis axes[2] = {axis_h(p), axis_w(p)};
  const auto first = [](const AxisMap& m) { return m.shift + m.step * (m.taps - 1); };
  for (int axis = 0; axis < 2; ++axis) {
    const Axis& a = axes[axis];
    if (a.stride > most_alike || a.inputs % a.stride != 0) return all;
    all.phases[axis] = static_cast<int>(a.stride);
    AxisMap& least = all.least[axis] = a.gradient(0);
    for (std::int64_t phase = 1; phase < a.stride; ++phase)
      if (const AxisMap m = a.gradient(phase); first(m) < first(least)) least = m;
    for (int phase = 0; phase < all.phases[axis]; ++phase) {
      const AxisMap m = a.gradient(phase);
      if (m.taps == 0 || m.taps != least.taps) return all;
      all.offset[axis][phase] = static_cast<int>(first(m) - first(least));
      all.tap[axis][phase] = static_cast<int>((m.first_tap - least.first_tap) * (axis == 0 ? p.w.shape[3] : 1));
    }
    const std::int64_t furthest = *std::max_element(all.offset[axis], all.offset[axis] + all.phases[axis]);
    if (furthest - (least.taps - 1) * least.step > tile::sm90::most_image_tap) return all;
  }
  all.exist = all.phases[0] * all.phases[1] > 1;
  return all;
}

// Whether dx, and what is added to it, can be stored by vectors of channels.
constexpr bool has_vectors_of_dx(const ConvProblem& p) {
  if (p.alignment < 16 || p.w.shape[1] % vector_elements(p.dtype) != 0) return false;
  for (const Layout* t : {&*p.dx, p.residual ? &*p.residual : nullptr}) {
    if (t && t->stride[1] != 1) return false;
    for (const int axis : {0, 2, 3})
      if (t && !is_regular(t->shape[axis], t->stride[axis], p.dtype)) return false;
  }
  return true;
}

// Rows of the product that a phase has in a launch of several: whole tiles, of a cluster's blocks.
constexpr std::int64_t padded_pixels_of_phase(const gemm_kernels::Config& tile, std::int64_t pixels) {
  return ceil_div(pixels, tile.bm * tile.cluster) * tile.bm * tile.cluster;
}

// Bytes of the filters' copy, for dx; partial sums of dw follow it.
inline std::int64_t transposed_filter_bytes(const ConvProblem& p) {
  if (!has_dx(p)) return 0;
  return ceil_div(p.w.count() * static_cast<std::int64_t>(size_of(p.dtype)), 128) * 128;
}

// What gradients refuse beyond the forward's refusals; empty: nothing.
inline std::string refuse_gradients(const ConvProblem& p, const DeviceInfo& device) {
  if (std::string why = refuse_phases(p); !why.empty()) return why;
  const Layout& w = p.w;
  Gathering g;
  if (is_volume(p) && has_dx(p)) return "it has no gradient of x for volumes";
  if (has_dw(p) && (!gather_in_place(g, p) || !is_walkable(g)))
    return "its gradients are for x with channels innermost, whose pixels start on 16 bytes, and for less padding";
  if (!is_matrix(p, p.y)) return "its gradients are for dy with filters innermost, whose pixels start on 16 bytes";
  if (has_dx(p) && w.shape[2] > 1 && w.shape[3] > 1 && w.stride[2] != w.shape[3] * w.stride[3])
    return "its gradients are for filters whose taps are evenly spaced";
  if (pixels_of(p) + 64 * 64 * gradient_group >= max_grid) return "it counts pixels to 2^31";
  if (real(p.x.shape[0]) * real(p.x.shape[2]) * real(p.x.shape[3]) * real(depth_of(p.x)) >= int_range / 2 ||
      reach(p.y, p) >= int_range || (p.dx && reach(*p.dx, p) >= int_range) || (p.dw && p.dw->span() >= max_grid))
    return "offsets of 2^31 or more";
  const Axis h = axis_h(p), v = axis_w(p);
  for (std::int64_t i = 0; has_dx(p) && i < h.stride; ++i)
    for (std::int64_t j = 0; j < v.stride; ++j) {
      const AxisMap of_h = h.gradient(i), of_w = v.gradient(j);
      if (of_h.outputs == 0 || of_w.outputs == 0) continue;
      const Gathering of_phase = gradient_gathering(p, of_h, of_w);
      if (!is_walkable(of_phase.h) || !is_walkable(of_phase.w)) return "its gradients are for less padding";
    }
  return has_dw(p) ? roofline::refuse_smem(gemm_kernels::wgmma_smem_bytes(filter_gradient_tile()), device) : "";
}

// Launches of so many phases of the stride.
constexpr int launches_of_dx(const ConvProblem& p, int phases) {
  return has_vectors_of_dx(p) && alike_phases(p).exist ? 1 : phases;
}

// Clocks of the gradients that are asked for, summed over blocks: dx of all phases, by tiles of `of_x`, and dw.
inline double gradient_clocks(const gemm_kernels::Config& of_x, const SplitProblem& s, const DeviceInfo& device) {
  constexpr gemm_kernels::Config of_w = filter_gradient_tile();
  const ConvProblem& p = s.problem;
  const double rate = device.fp16_tflops * 1e3 / (2 * device.sms * device.clock_ghz);
  const auto step_clocks = [&](const gemm_kernels::Config& tile) {
    const double lines = (tile.bm / 64 * (64 + tile.bn) + tile.bm + tile.bn) * tile.line / 128.0;
    return std::max(real(tile.bm * tile.bn) * tile.bk / rate, lines);
  };
  const int sms = std::max(1, device.sms);
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0], split = s.split;
  const std::int64_t phases = p.geometry.stride.h * p.geometry.stride.w;
  const std::int64_t pixels = p.x.shape[0] * p.x.shape[2] * p.x.shape[3] / phases;
  const bool by_vectors = has_dx(p) && has_vectors_of_dx(p);
  const std::int64_t launches = has_dx(p) ? launches_of_dx(p, static_cast<int>(phases)) : 1;
  const std::int64_t tiles_x =
      phases / launches * ceil_div(pixels, of_x.bm * of_x.cluster) * of_x.cluster * ceil_div(channels, of_x.bn);
  const double steps_x = std::max(1.0, real(taps_of(p)) / real(phases)) * real(ceil_div(filters, of_x.bk));
  // By threads, to strided vectors or to strided elements. Those of vectors are not fitted.
  const double stores = phases == 1 ? 1 : by_vectors ? 1.5 : 4;
  const std::int64_t tiles_w = ceil_div(filters, of_w.bm) * ceil_div(filter_gradient_columns(p), of_w.bn) * split;
  const double steps_w = real(ceil_div(ceil_div(pixels_of(p), gradient_group), split));
  const double clocks_x =
      real(launches * ceil_div(tiles_x, sms)) * (steps_x * step_clocks(of_x) + stores * tile_clocks);
  const double clocks_w = real(ceil_div(tiles_w, sms)) * (steps_w * step_clocks(of_w) + 2 * tile_clocks);
  return (real(has_dx(p)) * clocks_x + real(has_dw(p)) * clocks_w) * sms;
}

}  // namespace ridge::conv_detail
