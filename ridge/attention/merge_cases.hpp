// attention_merge's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/attention/oracle.hpp>
#include <ridge/check/case_book.hpp>

#include <cmath>

namespace ridge::attention_detail {

inline Result<std::vector<TensorType>> merge_inputs(const check::Case& c) {
  const std::int64_t b = c.dim("b"), h = c.dim("hq"), s = c.dim("sq"), dv = c.dim("dv");
  const bool rows_first = c.options.text("layout", "bhsd") == "bshd";
  const TensorType o = rows_first ? TensorType{c.dtype, {b, s, h, dv}} : TensorType{c.dtype, {b, h, s, dv}};
  const TensorType lse{f32, {b, h, s}};
  return std::vector{o, lse, o, lse};
}

// Row n of a has no keys where n % 3 is 0, of b where n % 4 is 2: of both, every twelfth. With fill=nan their O is NaN,
// and row 1 has a NaN LSE.
inline void adjust_merge(const check::Case& c, std::vector<check::HostTensor>& in) {
  const std::int64_t h = c.dim("hq"), s = c.dim("sq"), dv = c.dim("dv");
  const bool rows_first = c.options.text("layout", "bhsd") == "bshd", nan = c.options.text("fill", "normal") == "nan";
  for (int part = 0; part < 2; ++part) {
    auto &o = in[2 * part].values, &lse = in[2 * part + 1].values;
    for (auto* values : {&o, &lse})
      for (double& x : *values)
        if (std::isnan(x)) x = 0.5;
    for (std::int64_t n = 0; n < static_cast<std::int64_t>(lse.size()); ++n) {
      if (part == 0 ? n % 3 != 0 : n % 4 != 2) continue;
      lse[n] = -std::numeric_limits<double>::infinity();
      const std::int64_t b = n / (h * s), head = n / s % h, i = n % s;
      const std::int64_t row = rows_first ? (b * s + i) * h + head : n;
      for (std::int64_t column = 0; nan && column < dv; ++column)
        o[row * dv + column] = std::numeric_limits<double>::quiet_NaN();
    }
    if (nan && lse.size() > 1 && part == 1) lse[1] = std::numeric_limits<double>::quiet_NaN();
  }
}

// In units u of float32: a weight exp(x) errs by x u and 4 u, the sum by as much, and the quotient, products and the
// sum of two by 6 u. Weights below 2^-126 may be 0, and products below it are multiples of 2^-149.
inline std::vector<check::Expected> merge_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const std::int64_t b = c.dim("b"), h = c.dim("hq"), s = c.dim("sq"), dv = c.dim("dv");
  const bool rows_first = c.options.text("layout", "bhsd") == "bshd";
  const double u = check::roundoff(f32), nothing = -std::numeric_limits<double>::infinity();
  check::Expected o, lse;
  o.value.resize(static_cast<std::size_t>(b * h * s * dv));
  o.tolerance.resize(o.value.size());
  for (std::int64_t n = 0; n < b * h * s; ++n) {
    const std::vector<Score> parts{{in[1].values[n], 0}, {in[3].values[n], 0}};
    const WeightsOracle weights(parts);  // two parts are like two keys
    double error = 10 * u;
    for (const Score& part : parts)
      if (part.value != nothing && std::isfinite(weights.max)) error += 2 * u * std::fabs(part.value - weights.max);
    lse.value.push_back(weights.log_sum);
    lse.tolerance.push_back(std::isfinite(weights.log_sum) ? error + 2 * u * std::fabs(weights.log_sum) : 0);
    const std::int64_t row = rows_first ? (n / (h * s) * s + n % s) * h + n / s % h : n;
    for (std::int64_t column = 0; column < dv; ++column) {
      double want = 0, size = 0, all = 0;
      for (int part = 0; part < 2; ++part) {
        if (parts[part].value == nothing) continue;
        const double value = in[2 * part].values[row * dv + column];
        want += weights.weights[part] * value;
        size += weights.weights[part] * std::fabs(value);
        all += std::fabs(value);
      }
      const double tolerance = error * size + 0x1p-126 * all + 2 * 0x1p-149;
      o.value[row * dv + column] = want;
      o.tolerance[row * dv + column] =
          std::isfinite(want) ? tolerance + check::rounding_error(c.dtype, std::fabs(want) + tolerance) : 0;
    }
  }
  return {o, lse};
}

inline check::CaseBook merge_book() {
  check::CaseBook book{.op = "attention_merge",
                       .keys = {"b", "hq", "sq", "dv"},
                       .optional_keys = {},
                       .inputs = merge_inputs,
                       .oracle = merge_oracle,
                       .adjust = adjust_merge,
                       .tests = {},
                       .benches = {}};
  const auto test = [&](std::string rest) { book.tests.push_back("attention_merge:" + rest); };
  for (const char* type : {"f32", "f16", "bf16"}) {
    for (const char* size : {"b=0,hq=2,sq=3,dv=8", "b=2,hq=1,sq=0,dv=8", "b=1,hq=2,sq=3,dv=0", "b=1,hq=1,sq=1,dv=1",
                             "b=2,hq=3,sq=7,dv=127", "b=1,hq=2,sq=13,dv=128", "b=1,hq=2,sq=12,dv=129"})
      test(std::string(type) + ":" + size);
    test(std::string(type) + ":b=2,hq=2,sq=13,dv=24:fill=nan");
    test(std::string(type) + ":b=1,hq=2,sq=13,dv=24:fill=constant,-3");
    test(std::string(type) + ":b=1,hq=2,sq=13,dv=24:fill=denormal");
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      test(std::string(type) + ":b=2,hq=3,sq=5,dv=20:layout=bshd:place=" + place);
    test(std::string(type) + ":b=1,hq=2,sq=13,dv=24:warp=64");
  }
  book.benches.push_back("attention_merge:bf16:b=1,hq=32,sq=8192,dv=128");
  return book;
}

}  // namespace ridge::attention_detail
