// 8 x 4 outputs of one filter per thread, which reads the filter's elements once for all of them.
#pragma once
#include <ridge/conv/problem.hpp>

namespace ridge::conv_detail {

inline constexpr int coarse_rows = 4, coarse_columns = 8;  // of a thread's outputs
constexpr std::int64_t coarse_items(const ConvProblem& p) {
  return p.y.shape[0] * p.y.shape[1] * ceil_div(p.y.shape[2], coarse_rows) * ceil_div(p.y.shape[3], coarse_columns);
}

namespace coarse {

inline std::string fits(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const ConvProblem& p = s.problem;
  if (p.backward) return no_gradients;
  // In double: sizes may be any.
  const double items = real(p.y.shape[0]) * real(p.y.shape[1]) *
                       real(ceil_div(p.y.shape[2], coarse_rows) * ceil_div(p.y.shape[3], coarse_columns));
  return items >= int_range - row.config.threads ? "more than 2^31 pieces of work" : "";
}

inline Footprint footprint(const Variant& row, const SplitProblem& s, const DeviceInfo&) {
  const int threads = row.config.threads;
  return {.grid = ceil_div(coarse_items(s.problem), threads), .threads = threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  const ConvProblem& p = s.problem;
  roofline::Kernel k = kernel_of(footprint(row, s, device), p);
  k.clocks = products(p) / 32 * 8 + warps_of_outputs(p) * 20;  // uncoalesced: a load touches eight lines of L1
  k.trips = std::max(1.0, real(terms_of(p)));
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace coarse
}  // namespace ridge::conv_detail
