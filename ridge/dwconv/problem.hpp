// What several families share: a problem's sums, refusals, and the start of a launch's model.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/dwconv/variants.hpp>
#include <ridge/roofline/family.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace ridge::dwconv_detail {

using Family = roofline::Family<Variant, DwconvProblem>;
using roofline::Footprint;
using roofline::refuse_smem;

// A family's kernels compute all sums of a problem, one per launch: y; or the gradients of k and of w. `summed`, below:
// over the batch, as in w's gradient.

constexpr std::int64_t lags(const DwconvProblem& p) { return std::min(p.taps, p.time); }  // lags with terms

// Outputs per channel of the sum over the batch; 0: the problem has none.
constexpr std::int64_t summed_outputs(const DwconvProblem& p) { return p.backward ? p.taps : 0; }

// ---- refusals that families share; empty: none

constexpr bool is_empty(const DwconvProblem& p) { return p.taps == 0 || p.batch == 0 || p.time == 0; }

inline std::string refuse_empty(const DwconvProblem& p) { return is_empty(p) ? "there is nothing to multiply" : ""; }

// For kernels with int arithmetic within a row.
inline std::string refuse_long(const DwconvProblem& p) {
  constexpr std::int64_t max_steps = std::int64_t{1} << 30;
  return p.time > max_steps || p.taps > max_steps ? "time or the filter is longer than 2^30" : "";
}

// blocks: of the largest launch.
inline std::string refuse_grid(std::int64_t blocks) { return blocks > max_grid ? "more than 2^31 blocks" : ""; }

// ---- models

// Products of one row of k and one filter: each lag below L as often as it fits.
inline double products(const DwconvProblem& p) {
  const double n = static_cast<double>(lags(p)), t = static_cast<double>(p.time);
  return n * t - n * (n - 1) / 2;
}
// Of all rows, for one sum of the problem.
inline double all_products(const DwconvProblem& p) {
  return static_cast<double>(p.channels) * static_cast<double>(p.batch) * products(p);
}

inline Cost cost(const DwconvProblem& p) {
  const double size = static_cast<double>(size_of(p.dtype)), channels = static_cast<double>(p.channels);
  const double signal = channels * static_cast<double>(p.batch) * static_cast<double>(p.time) * size;
  const double filter = channels * static_cast<double>(p.taps) * size;
  Cost c;
  c.bytes_read = (p.backward ? 2 : 1) * signal + filter;
  c.bytes_written = signal + (p.backward ? filter : 0);
  const double all = 2 * channels * static_cast<double>(p.batch) * products(p) * (p.backward ? 2 : 1);
  // The tensor cores' products: a float32 takes three, hi hi, hi lo and lo hi.
  c.on(Unit::fp16_tensor) = all * (p.dtype == f32 ? 3 : 1);
  return c;
}

// The model of launches that read and write each element once: a family's model begins with it, and adds the clocks on
// a multiprocessor's busiest pipe.
inline roofline::Kernel kernel_of(const Footprint& launch, const DwconvProblem& p) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(p));
  k.launches = p.backward ? 2 : 1;
  return k;
}

// Adds up of(summed) over the sums of a problem.
template <class Of> double over_sums(const DwconvProblem& p, const Of& of) {
  return of(false) + (p.backward ? of(true) : 0);
}

}  // namespace ridge::dwconv_detail
