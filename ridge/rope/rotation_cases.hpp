// Rotation of a case's head by definition: shared by the oracles of rope and rope_cache.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/rope/oracle.hpp>

#include <cmath>
#include <limits>

namespace ridge::rope_detail {

// rotary_dim / 2; 0 is the whole head. The plan refuses what is no number.
inline std::int64_t pairs_of(const check::Case& c) {
  const auto given = c.options.integer(c.op, "rotary_dim", 0);
  return (given && *given > 0 ? *given : c.dim("d")) / 2;
}

struct RotationOfCase {
  DType dtype;
  std::int64_t pairs, places;  // places: positions of the tables
  bool neox;
  double base;
  const check::HostTensor *cos = nullptr, *sin = nullptr;  // null: computed

  RotationOfCase(const check::Case& c, const std::vector<check::HostTensor>& in, std::size_t first_table)
      : dtype(c.dtype),
        pairs(pairs_of(c)),
        places(c.dim("tables", 0)),
        neox(c.options.text("style", "neox") == "neox"),
        base(*c.options.real(c.op, "base", 10000)) {
    if (!c.has("tables")) return;
    cos = &in[first_table];
    sin = &in[first_table + 1];
  }

  // Sets the first 2 * pairs elements of values and tolerances, for the head at x.
  //
  // Tolerance, in roundings of f32 relative to |a| + |b|: the angle (2), the functions (2), products and sum (2); one
  // rounding into the type. Tables count as exact.
  void rotate(const double* x, double position, double* values, double* tolerances) const {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const std::int64_t at[2] = {neox ? i : 2 * i, neox ? i + pairs : 2 * i + 1};
      const double angle = angle_oracle(position, static_cast<double>(i), static_cast<double>(2 * pairs), base);
      double c = std::cos(angle), s = std::sin(angle);
      if (cos) {
        const bool inside = position >= 0 && position < static_cast<double>(places);
        const std::size_t entry = inside ? static_cast<std::size_t>(position) * pairs + i : 0;
        c = inside ? cos->values[entry] : std::numeric_limits<double>::quiet_NaN();
        s = inside ? sin->values[entry] : c;
      }
      const double a = x[at[0]], b = x[at[1]], scale = cos ? std::fabs(c) + std::fabs(s) : 1;
      const PairOracle o(a, b, c, s);
      const double want[2] = {o.first, o.second}, u = check::roundoff(f32);
      for (int k = 0; k < 2; ++k) {
        double value = want[k];
        if (std::isfinite(value) && std::isinf(check::round_to(dtype, value))) value = check::round_to(dtype, value);
        values[at[k]] = value;
        tolerances[at[k]] = std::isfinite(value) ? 6 * u * (std::fabs(a) + std::fabs(b)) * scale + 0x1p-148 +
                                                       check::rounding_error(dtype, value)
                                                 : 0;
      }
    }
  }
};

}  // namespace ridge::rope_detail
