// What several families share: sizes of a problem, refusals, and the beginning of a launch's model.
#pragma once
#include <ridge/conv/geometry.hpp>
#include <ridge/conv/variants.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace ridge::conv_detail {

// What a row runs: a problem, and the number of split-K slices (ConvPlan::split).
struct SplitProblem {
  const ConvProblem& problem;
  int split = 1;
};
using Family = roofline::Family<Variant, SplitProblem>;
using roofline::Footprint;
using roofline::refuse_all_but_hopper;
using roofline::refuse_smem;

enum class Pass : std::uint8_t { output, inputs, filters };  // y, dx, dw

// Whether the contract takes the problem (problem.cpp), and a transposed one's geometry (transpose_problem.cpp).
Status validate(const ConvProblem&);
Status check_transposed(const ConvProblem&);

// ---- sizes

// Whether a backward problem has elements of dx, or of dw, to compute.
inline bool has_dx(const ConvProblem& p) { return p.dx && p.dx->count() > 0; }
inline bool has_dw(const ConvProblem& p) { return p.dw && p.dw->count() > 0; }

// A volume's slices, or its filters'; an image is one.
constexpr std::int64_t depth_of(const Layout& t) { return t.rank == 5 ? t.shape[4] : 1; }
constexpr bool is_volume(const ConvProblem& p) { return p.axes == 3; }

// Whether the slices of volumes follow each other like rows, or else like images.
constexpr bool are_rows(const Layout& t) {
  return depth_of(t) == 1 || t.shape[2] == 1 || t.stride[4] == t.shape[2] * t.stride[2];
}
constexpr bool are_images(const Layout& t) { return t.shape[0] == 1 || t.stride[0] == depth_of(t) * t.stride[4]; }
// A volume as images, by the axes of `given`. Precondition: are_rows(given) or are_images(given).
constexpr Layout as_images(Layout t, const Layout& given) {
  if (t.rank == 4) return t;
  const std::int64_t d = t.shape[4];
  if (are_rows(given)) {
    if (t.shape[2] == 1) t.stride[2] = t.stride[4];
    t.shape[2] *= d;
  } else {
    t.stride[0] = t.stride[4];
    t.shape[0] *= d;
  }
  t.rank = 4;
  t.shape[4] = t.stride[4] = 0;
  return t;
}

constexpr std::int64_t channels_of_group(const ConvProblem& p) { return p.w.shape[1]; }
constexpr std::int64_t filters_of_group(const ConvProblem& p) { return p.w.shape[0] / p.geometry.groups; }
constexpr std::int64_t taps_of(const ConvProblem& p) { return p.w.shape[2] * p.w.shape[3] * depth_of(p.w); }
constexpr std::int64_t pixels_of(const Layout& t) { return t.shape[0] * t.shape[2] * t.shape[3] * depth_of(t); }
constexpr std::int64_t pixels_of(const ConvProblem& p) { return pixels_of(p.y); }
constexpr std::int64_t terms_of(const ConvProblem& p) { return channels_of_group(p) * taps_of(p); }  // k of an output
// k of an element of dx, of the largest phase of the stride.
constexpr std::int64_t terms_of_input(const ConvProblem& p) {
  const ConvPair stride = p.geometry.stride;
  return filters_of_group(p) * ceil_div(p.w.shape[2], stride.h) * ceil_div(p.w.shape[3], stride.w) *
         ceil_div(depth_of(p.w), p.geometry.depth.stride);
}
// The number of phases of the strides (geometry.hpp). In double: strides may be any number.
constexpr double phase_count(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return static_cast<double>(g.stride.h * g.stride.w) * static_cast<double>(g.depth.stride);
}
constexpr bool channels_last(const ConvProblem& p) { return p.geometry.layout == ConvLayout::nhwc; }

constexpr Axis axis_h(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return {p.x.shape[2], p.y.shape[2], p.w.shape[2], g.stride.h, g.pad.top, g.dilation.h};
}
constexpr Axis axis_w(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return {p.x.shape[3], p.y.shape[3], p.w.shape[3], g.stride.w, g.pad.left, g.dilation.w};
}
constexpr Axis axis_d(const ConvProblem& p) {  // of an image: one slice and one tap
  const ConvDepth& d = p.geometry.depth;
  return {depth_of(p.x), depth_of(p.y), depth_of(p.w), d.stride, d.front, d.dilation};
}

// Tiles of a product of so many filters and pixels; in the filter gradient, filters and taps.
constexpr std::int64_t tiles_of(const Config& c, std::int64_t filters, std::int64_t pixels) {
  return ceil_div(filters, c.tile_filters) * ceil_div(pixels, c.tile_pixels);
}

constexpr double real(std::int64_t n) { return static_cast<double>(n); }
constexpr double padded(std::int64_t size, std::int64_t tile) { return real(ceil_div(size, tile) * tile); }

inline constexpr double int_range = 2147483648.0;

// The largest offset in these planes, with the taps outside of them. In double: it may be any number.
inline double reach(const Layout& t, const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  const auto along = [&](int axis, std::int64_t beyond) {
    return real(std::max<std::int64_t>(t.shape[axis], 1) - 1 + beyond) * std::fabs(real(t.stride[axis]));
  };
  const auto beyond = [](std::int64_t taps, std::int64_t dilation, std::int64_t before, std::int64_t after,
                         std::int64_t stride) { return (taps - 1) * dilation + std::max(before, after) + stride; };
  const double depth =
      is_volume(p) ? along(4, beyond(depth_of(p.w), g.depth.dilation, g.depth.front, g.depth.back, g.depth.stride)) : 0;
  return along(0, 0) + along(1, 0) + along(2, beyond(p.w.shape[2], g.dilation.h, g.pad.top, g.pad.bottom, g.stride.h)) +
         along(3, beyond(p.w.shape[3], g.dilation.w, g.pad.left, g.pad.right, g.stride.w)) + depth;
}
inline double reach_in_image(const Layout& t, const ConvProblem& p) {
  return reach(t, p) - real(t.shape[0] - 1) * std::fabs(real(t.stride[0]));
}

// ---- refusals that families share; empty: none

inline constexpr const char *only_f32 = "it is for f32", *only_16_bits = "it is for 16-bit types",
                            *no_gradients = "it has no gradients", *one_group = "it takes all channels as one group",
                            *no_products = "there are no products";

// For kernels that count rows and columns of y, and a tile beyond them, in 32 bits.
inline std::string refuse_large_planes(const ConvProblem& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  return std::max(p.y.shape[2], p.y.shape[3]) >= most ? "images of 2^30 rows or columns" : "";
}

// For kernels that launch once for each phase of the stride (geometry.hpp).
inline std::string refuse_phases(const ConvProblem& p) {
  constexpr double most = 64;
  return has_dx(p) && phase_count(p) > most ? "the gradient of x takes more than 64 launches with these strides" : "";
}

// ---- models

// Of tiles of y's rows and columns: the share of what they cover that exists.
inline double plane_efficiency(const ConvProblem& p, std::int64_t rows, std::int64_t columns) {
  return real(p.y.shape[2] * p.y.shape[3]) / std::max(1.0, padded(p.y.shape[2], rows) * padded(p.y.shape[3], columns));
}

inline double products(const ConvProblem& p) { return real(pixels_of(p)) * real(p.w.shape[0]) * real(terms_of(p)); }

inline Cost cost(const ConvProblem& p) {
  const double size = real(static_cast<std::int64_t>(size_of(p.dtype)));
  const double x = real(p.x.count()) * size, w = real(p.w.count()) * size, y = real(p.y.count()) * size;
  const double passes = p.backward ? real(has_dx(p) + has_dw(p)) : 1;
  Cost c;
  c.bytes_read = p.backward ? y + (has_dx(p) ? w : 0) + (has_dw(p) ? x : 0) : x + w;
  c.bytes_written = p.backward ? (has_dx(p) ? x : 0) + (has_dw(p) ? w : 0) : y;
  if (p.bias) c.bytes_read += real(p.bias->count()) * size;
  if (p.residual) c.bytes_read += p.transposed ? x : y;
  const Unit unit = p.dtype != f32 ? Unit::fp16_tensor : p.math == ConvMath::tf32 ? Unit::tf32 : Unit::fp32;
  c.on(unit) = 2 * products(p) * passes;
  return c;
}

// Warps of a kernel with one output per thread.
inline double warps_of_outputs(const ConvProblem& p) { return real(p.y.count()) / 32; }

// The model of a launch that reads and writes each element once: a family's model begins with it. A family adds
// instructions, counted in the source, as clocks: a multiprocessor issues four warp instructions per clock.
inline roofline::Kernel kernel_of(const Footprint& launch, const ConvProblem& p) {
  return roofline::kernel_of(launch, cost(p));
}

inline constexpr double start_us = 2;  // of blocks that load much before their first product; gemm's value

}  // namespace ridge::conv_detail
