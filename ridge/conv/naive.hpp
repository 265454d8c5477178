// The definition: a thread per output, of the convolution or of its gradients; any strides and sizes.
#pragma once
#include <ridge/conv/problem.hpp>

namespace ridge::conv_detail::naive {

constexpr std::int64_t blocks_of(const Config& c, std::int64_t elements) { return ceil_div(elements, c.threads); }

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const ConvProblem& p = s.problem;
  const std::int64_t most = std::max({p.y.count(), p.x.count(), p.w.count()});
  return blocks_of(row.config, most) > max_grid ? "more than 2^31 blocks" : "";
}

// Gradients take a launch each, for the elements of dx and of dw: the footprint is one launch for the larger tensor.
inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const Config& c = row.config;
  const ConvProblem& p = s.problem;
  const std::int64_t outputs =
      p.backward ? std::max(has_dx(p) ? p.x.count() : 0, has_dw(p) ? p.w.count() : 0) : p.y.count();
  return {.grid = blocks_of(c, outputs), .threads = c.threads, .registers = 64};
}

// What a thread waits for one after another: its sum's terms, two and a half at a time, fitted to outputs of 3 to 27;
// four 64-bit divisions come before the first access. For dx each tap is divided by the stride, whether it meets or
// not; the time of a division is not fitted.
inline double trips(const ConvProblem& p) {
  constexpr double at_a_time = 2.5, division = 0.1;
  if (!p.backward) return std::max(1.0, real(terms_of(p)) / at_a_time);
  const std::int64_t rows = p.w.shape[2], met = ceil_div(rows, p.geometry.stride.h);
  const double slices = real(ceil_div(depth_of(p.w), p.geometry.depth.stride));
  const double of_dx = real(terms_of_input(p)) / at_a_time + slices * real(rows + met * p.w.shape[3]) * division;
  return real(has_dx(p)) * std::max(1.0, of_dx) + real(has_dw(p)) * std::max(1.0, real(pixels_of(p)) / at_a_time);
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  const int gradients = has_dx(p) + has_dw(p);
  k.clocks = products(p) / 32 * 16 / 4 * (p.backward ? 1.25 * gradients : 1) + warps_of_outputs(p) * 60;
  k.trips = std::max(1.0, trips(p));
  // Fetching its code, of all passes and layouts: in networks of one image, on an H200, a depthwise 7x7 takes 17 us and
  // a 3x3 or 5x5 8 us (bench/results/h200/model_kernels.txt).
  k.serial_us = 4;
  k.launches = p.backward ? std::max(1, gradients) : 1;
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::conv_detail::naive
