// Where outputs lie among the inputs of an axis, in integers, for host and kernels: which inputs an output reads, by
// which weights, and which outputs read an input.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/upsample/upsample.hpp>

#include <numeric>
#include <type_traits>

namespace ridge::upsample_detail {

// Output j lies at n / denominator, n = j step + first. Nearest: it is input floor(n / denominator). Bilinear: places
// count from one input before the first, so that none is negative; with q = floor(n / denominator), output j lies
// between inputs q - 1 and q, behind the former by the remainder of n.
struct Axis {
  std::int64_t inputs = 0, outputs = 0;
  std::int64_t step = 0, first = 0, denominator = 1;  // without a common factor
};

// Precondition: 0 <= inputs, outputs < 2^30, so that all products of two sizes stay within 62 bits.
constexpr Axis axis_of(const Upsampling& how, std::int64_t inputs, std::int64_t outputs) {
  Axis a{inputs, outputs};
  if (inputs == 0 || outputs == 0) return a;
  switch (how.mode) {
    case Interpolation::nearest:  // j inputs / outputs
      a.step = inputs;
      a.denominator = outputs;
      break;
    case Interpolation::nearest_exact:  // (2 j + 1) inputs / (2 outputs)
      a.step = 2 * inputs;
      a.first = inputs;
      a.denominator = 2 * outputs;
      break;
    case Interpolation::bilinear:
      if (how.align_corners) {  // 1 + j (inputs - 1) / (outputs - 1)
        a.step = outputs > 1 ? inputs - 1 : 0;
        a.denominator = outputs > 1 ? outputs - 1 : 1;
        a.first = a.denominator;
      } else {  // 1 + ((2 j + 1) inputs - outputs) / (2 outputs)
        a.step = 2 * inputs;
        a.first = inputs + outputs;
        a.denominator = 2 * outputs;
      }
  }
  const std::int64_t factor = std::gcd(std::gcd(a.step, a.first), a.denominator);
  a.step /= factor;
  a.first /= factor;
  a.denominator /= factor;
  return a;
}

// Whether 31 bits hold every number of the Coordinates below.
constexpr bool is_narrow(const Axis& a) {
  return a.outputs * a.step + a.first < Divider::limit && (a.inputs + 2) * a.denominator + a.step < Divider::limit;
}

// Divides non-negative numbers by one that is known on the host.
class WideDivider {
 public:
  WideDivider() = default;
  // Precondition: 1 <= divisor.
  constexpr explicit WideDivider(std::int64_t divisor) : divisor_(divisor) {}
  RIDGE_HD constexpr std::int64_t operator()(std::int64_t n) const {
    return static_cast<std::int64_t>(quotient(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(divisor_)));
  }

 private:
  std::int64_t divisor_ = 1;
};
class NarrowDivider {
 public:
  NarrowDivider() = default;
  // Precondition: 1 <= divisor < 2^31.
  constexpr explicit NarrowDivider(std::int64_t divisor) : divider_(divisor) {}
  RIDGE_HD constexpr int operator()(int n) const { return static_cast<int>(divider_(static_cast<std::uint32_t>(n))); }

 private:
  Divider divider_;
};

template <class Index> struct Place {
  Index q;       // the output lies between inputs q - 1 and q
  float weight;  // of input q; that of input q - 1 is 1 - weight, which is exact
};

template <class Index> struct Range {
  Index first, last;  // without last
};

// An axis for kernels. Precondition where Index has 32 bits: is_narrow(axis).
template <class Index> class Coordinates {
 public:
  Coordinates() = default;
  constexpr explicit Coordinates(const Axis& a)
      : inputs(static_cast<Index>(a.inputs)),
        outputs(static_cast<Index>(a.outputs)),
        step_(static_cast<Index>(a.step)),
        first_(static_cast<Index>(a.first)),
        denominator_(static_cast<Index>(a.denominator)),
        by_denominator_(a.denominator),
        by_step_(a.step > 0 ? a.step : 1),
        reciprocal_(1.0f / static_cast<float>(a.denominator)) {}

  Index inputs = 0, outputs = 0;

  // ---- the inputs of output j. Preconditions: 0 <= j < outputs, 0 < inputs

  // Nearest: the only one.
  RIDGE_HD constexpr Index source(Index j) const { return by_denominator_(j * step_ + first_); }

  // Bilinear: two, which are one at the edges.
  RIDGE_HD constexpr Place<Index> place(Index j) const {
    const Index n = j * step_ + first_, q = by_denominator_(n);
    return {q, weight_behind(n - q * denominator_)};
  }
  RIDGE_HD constexpr Index before(const Place<Index>& at) const { return at.q > 0 ? at.q - 1 : 0; }
  RIDGE_HD constexpr Index behind(const Place<Index>& at) const { return at.q < inputs ? at.q : inputs - 1; }

  // ---- the outputs that read input i. Precondition: 0 <= i < inputs

  RIDGE_HD constexpr Range<Index> nearest_readers(Index i) const {
    return {outputs_before(i * denominator_), outputs_before((i + 1) * denominator_)};
  }
  // Not those whose place is that of input i - 1: its weight is 1 there.
  RIDGE_HD constexpr Range<Index> bilinear_readers(Index i) const {
    return {outputs_before(i * denominator_ + 1), outputs_before((i + 2) * denominator_)};
  }
  // The weight of input i in output j, one of its bilinear_readers.
  RIDGE_HD constexpr float weight(Index i, Index j) const {
    const Index distance = j * step_ + first_ - (i + 1) * denominator_;  // from input i to output j, over denominator_
    if ((i == 0 && distance < 0) || (i == inputs - 1 && distance >= 0)) return 1;  // beyond the outermost inputs
    return distance < 0 ? weight_behind(denominator_ + distance) : 1 - weight_behind(distance);
  }

 private:
  // remainder / denominator_, rounded to a multiple of 2^-24: floats from 1/2 to 1 are such multiples, and a result
  // below 1/2 is the exact difference of 1 and one of them. So 1 minus the result is exact too.
  RIDGE_HD constexpr float weight_behind(Index remainder) const {
    const float share = static_cast<float>(remainder) * reciprocal_;
    const float before = 1 - (share < 1 ? share : 1.0f);
    return 1 - before;
  }

  // How many outputs have n < limit.
  RIDGE_HD constexpr Index outputs_before(Index limit) const {
    if (limit <= first_) return 0;
    if (step_ == 0) return outputs;
    const Index count = by_step_(limit - first_ - 1) + 1;
    return count < outputs ? count : outputs;
  }

  using Division = std::conditional_t<sizeof(Index) == 8, WideDivider, NarrowDivider>;
  Index step_ = 0, first_ = 0, denominator_ = 1;
  Division by_denominator_, by_step_;
  float reciprocal_ = 1;
};
using Wide = Coordinates<std::int64_t>;
using Narrow = Coordinates<int>;

}  // namespace ridge::upsample_detail
