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
  return {.grid = blocks_of(c, std::max<std::int64_t>(p.y.count(), has_dx(p) ? p.x.count() : 0)),
          .threads = c.threads,
          .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  const int launches = has_dx(p) + has_dw(p);  // of gradients
  k.clocks = products(p) / 32 * 16 / 4 * (p.backward ? 1.25 * launches : 1) + warps_of_outputs(p) * 60;
  // Fitted to outputs of 3 to 27 terms; four 64-bit divisions come before the first access.
  k.trips = std::max(1.0, real(terms_of(p)) / 2.5);
  k.serial_us = 1;
  k.launches = p.backward ? std::max(1, launches) : 1;
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::conv_detail::naive
