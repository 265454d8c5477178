// Norms of float32 in double-float arithmetic: a number is the unevaluated sum of two floats (tile/two_float.cuh). The
// statistics are exact but for terms of the square of float32's roundoff; two roundings of the result remain.
//
//   sums       of x and of its square, in float64, in one pass: a product of two floats is exact there. That takes 3
//              instructions for an element, double-floats take 17. By count, multiprocessors with few units for float64
//              should keep up with their memory (2 operations in a clock, while 32 elements arrive in 80; not
//              measured). If the mean is more than 16 standard deviations from 0, the difference of the sums would lose
//              the bits that float64 adds: a second pass takes the squares of x - mean
//   mean       base + offset. base has no finer steps than float32 at the row's greatest element, so x - base is a
//              double-float after three operations, in any order of their sizes (Boldo, Graillat and Muller, 2017)
//   y          ((x - base) - offset) * scale, in double-floats; then two multiply-adds with gamma and beta
//
// By count, 3 + 10 instructions for an element (rms: 2 + 5) instead of 6. eps is given in float64.
#pragma once
#include <ridge/norm/norm.hpp>
#include <ridge/norm/statistics.cuh>
#include <ridge/tile/two_float.cuh>

#include <cmath>
#include <limits>

namespace ridge::norm_detail {

using tile::TwoFloat;

template <bool Rms> struct TwoFloatStatistics {
  float base, offset;  // rms: 0
  TwoFloat scale;
  __device__ __forceinline__ float operator()(float x, float gamma, float beta) const {
    float d = x, lost = 0;
    if constexpr (!Rms) {
      d = simt::sub_rn(x, base);
      lost =
          simt::sub_rn(simt::sub_rn(x, simt::add_rn(d, base)), offset);  // exact: steps of x are no coarser than base's
    }
    const TwoFloat n = tile::two_product(d, scale.high);
    float low = simt::fma_rn(d, scale.low, n.low);
    if constexpr (!Rms) low = simt::fma_rn(lost, scale.high, low);
    return simt::fma_rn(low, gamma, simt::fma_rn(n.high, gamma, beta));
  }
};

// How a kernel takes a row's statistics (statistics.cuh), in place of PlainSums; the kernel's argument.
template <bool Rms> struct InTwoFloats {
  static constexpr bool plain = false;
  double eps, cols, per_column, root_of_cols;

  // Shared memory of a row's reductions.
  template <class Team, class> struct Scratch {
    typename Team::template Scratch<Differences<double>> sums;
    typename Team::template Scratch<double> squares;
  };

  // each(f) and end_pass() are those of row_statistics().
  template <class Team, class Each, class EndPass, class S>
  __device__ __forceinline__ TwoFloatStatistics<Rms> statistics(Each&& each, EndPass&& end_pass, S& scratch) const {
    if constexpr (Rms) {
      double squares = 0;
      each([&](float x, bool) { squares = ::fma(static_cast<double>(x), static_cast<double>(x), squares); });
      end_pass();
      squares = Team::reduce(squares, plus<double>, scratch.squares);
      return {0, 0, tile::two_floats(::rsqrt(squares * per_column + eps))};
    } else {
      Differences<double> s{0, 0};
      each([&](float x, bool) { s.add(static_cast<double>(x)); });
      end_pass();
      s = Team::reduce(s, plus<Differences<double>>, scratch.sums);
      // The quotient rounded to nearest: for a constant row, whose sum is exact, it is that constant.
      const double near = s.first * per_column;
      const double mean = ::fma(::fma(-near, cols, s.first), per_column, near);
      double variance = ::fma(-mean, mean, s.squares * per_column);
      bool far = !(mean * mean <= 256 * variance);
      if constexpr (Team::lanes < Team::warp) far = simt::tiles<Team::warp>().any(far);  // all of the warp together
      if (far) {
        double squares = 0;
        each([&](float x, bool exists) {
          const double d = static_cast<double>(x) - (exists ? mean : 0.0);
          squares = ::fma(d, d, squares);
        });
        end_pass();
        variance = Team::reduce(squares, plus<double>, scratch.squares) * per_column;
      }
      variance = variance < 0 ? 0.0 : variance;  // a NaN stays
      const double scale = ::rsqrt(variance + eps);
      // No element is farther from the mean than the root of the sum of squares. Adding `steps` and subtracting it
      // again rounds the mean to float32's step at that distance, or to a coarser one.
      const double greatest = ::fma(root_of_cols, (variance + eps) * scale, ::fabs(mean));
      const double steps = ::copysign(0x1.001p29 * greatest, mean), most = std::numeric_limits<float>::max();
      const double base = ::fmax(::fmin((mean + steps) - steps, most), -most);  // it may have been rounded beyond
      return {static_cast<float>(base), static_cast<float>(mean - base), tile::two_floats(scale)};
    }
  }
};

template <bool Rms> static InTwoFloats<Rms> two_float_sums(const NormProblem& p) {
  const auto cols = static_cast<double>(p.cols);
  return {.eps = p.eps, .cols = cols, .per_column = 1 / cols, .root_of_cols = std::sqrt(cols)};
}

}  // namespace ridge::norm_detail
