// batch norm's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/batch_norm/batch_norm.hpp>
#include <ridge/batch_norm/oracle.hpp>
#include <ridge/check/case_book.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::batch_norm_detail {

// plain=1: without gamma and beta; narrow=1: parameters of x's type. Given as sizes, which the operator does not see.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t n = c.dim("n"), channels = c.dim("c"), h = c.dim("h"), w = c.dim("w");
  const bool nhwc = c.options.text("layout") == "nhwc";
  std::vector<TensorType> types{{c.dtype, nhwc ? std::vector{n, h, w, channels} : std::vector{n, channels, h, w}}};
  const TensorType parameter{c.dim("narrow", 0) ? c.dtype : f32, {channels}};
  if (c.op == "batch_norm") types.insert(types.end(), 2, parameter);
  if (c.op != "batch_norm_stats" && !c.dim("plain", 0)) types.insert(types.end(), 2, parameter);
  return types;
}

// Variances are not negative. hard=1 puts all values of every channel around 10,000, hard=2 only the first one.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (c.op == "batch_norm")
    for (double& v : in[2].values) v = std::fabs(v);
  if (c.dim("hard", 0) == 1)
    for (double& v : in[0].values) v = 1e4 + v * 1e-2;
  if (c.dim("hard", 0) == 2 && !in[0].values.empty()) {
    const bool nhwc = c.options.text("layout") == "nhwc";
    const std::int64_t space = c.dim("h") * c.dim("w");
    for (std::int64_t channel = 0; channel < c.dim("c"); ++channel) in[0].values[channel * (nhwc ? 1 : space)] = 1e4;
  }
}

// Statistics: with A roundings on a value's way, each difference from the first value is off by at most A u times the
// channel's spread s. A is the channel's length if one thread adds it up (`serial`): roundings of equal values fall to
// the same side, and add up. Else a thread has a share of the channel and adds several elements together before it
// updates its mean, and a tree follows: fewer than 64 + 8 sqrt(length).
//   mean   A u s, its own rounding, and one to a multiple of 2^-149
//   var    2 sqrt(var) A u s + (A u s)^2, and A roundings of itself
// y: the difference (1 rounding), the scale (4), the product and sum (1), of f32; if mean and var are computed, the
// effect of their errors on the difference and, by half of the relative error, on the scale; one rounding to the type.
inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              bool serial) {
  const bool nhwc = c.options.text("layout") == "nhwc", given = c.op == "batch_norm";
  const auto& shape = in[0].type.shape;
  const std::int64_t channels = shape[nhwc ? 3 : 1], space = nhwc ? shape[1] * shape[2] : shape[2] * shape[3];
  const std::int64_t images = shape[0], elements = images * space;
  const double u = check::roundoff(f32), eps = static_cast<float>(*c.options.real(c.op, "eps", 1e-5));
  const auto length = static_cast<double>(elements);
  const double roundings = (serial ? length : std::min(length, 64 + 8 * std::sqrt(length))) + 8;
  const std::size_t affine = given ? 3 : 1;
  check::Expected y, mean, var;
  y.value.resize(in[0].values.size());
  y.tolerance.resize(in[0].values.size());
  const auto index = [&](std::int64_t channel, std::int64_t i) {
    return static_cast<std::size_t>(nhwc ? i * channels + channel
                                         : (i / space * channels + channel) * space + i % space);
  };
  for (std::int64_t ch = 0; ch < channels; ++ch) {
    double m, v, m_error = 0, v_error = 0;
    if (given) {
      m = in[1].values[ch];
      v = in[2].values[ch];
    } else {
      std::vector<double> values;
      for (std::int64_t i = 0; i < elements; ++i) values.push_back(in[0].values[index(ch, i)]);
      const ChannelOracle o(values);
      m = o.mean;
      v = o.var;
      const double moved = roundings * u * o.spread;
      m_error = moved + 2 * check::rounding_error(f32, m) + 0x1p-149;
      v_error = 2 * std::sqrt(v) * moved + moved * moved + roundings * u * v + 0x1p-126;
      mean.value.push_back(m);
      mean.tolerance.push_back(std::isfinite(m) ? m_error : 0);
      var.value.push_back(v);
      var.tolerance.push_back(std::isfinite(v) ? v_error : 0);
    }
    const double gamma = in.size() > affine ? in[affine].values[ch] : 1;
    const double beta = in.size() > affine ? in[affine + 1].values[ch] : 0, scale = gamma / std::sqrt(v + eps);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::size_t at = index(ch, i);
      const double x = in[0].values[at], difference = std::fabs(x - m);
      double want = (x - m) * scale + beta;
      if (std::isfinite(want) && std::isinf(check::round_to(c.dtype, want))) want = check::round_to(c.dtype, want);
      y.value[at] = want;
      // With an error in the variance, the scale is at most that of the least possible variance.
      const double worst = std::fabs(gamma) / std::sqrt(std::max(v - v_error, 0.0) + eps) - std::fabs(scale);
      const double tolerance = 8 * u * (difference * std::fabs(scale) + std::fabs(beta)) +
                               m_error * (std::fabs(scale) + worst) + difference * worst + 0x1p-126;
      y.tolerance[at] =
          std::isfinite(want) ? tolerance + check::rounding_error(f32, want) + check::rounding_error(c.dtype, want) : 0;
      if (std::fabs(scale) + worst > std::numeric_limits<float>::max()) y.tolerance[at] = HUGE_VAL;  // batch_norm.hpp
    }
  }
  if (given) return {y};
  if (c.op == "batch_norm_stats") return {mean, var};
  return {y, mean, var};
}
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, false);
}
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant == "naive" && c.op != "batch_norm") expected = oracle_of(c, in, true);
}

inline check::CaseBook book_of(BatchNorm f) {
  const std::string op(name(f));
  check::CaseBook book{.op = op,
                       .keys = {"n", "c", "h", "w"},
                       .optional_keys = {"plain", "narrow", "hard"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const std::vector<std::string> types{"f32", "f16", "bf16"};
  // Planes around 16 bytes and below, of whole vectors or not, one channel and more than a block has; positions around
  // the 4 of a thread; slices of several steps.
  for (const std::string& type : types) {
    for (const char* size : {"n=1,c=1,h=1,w=1", "n=2,c=3,h=1,w=1", "n=2,c=3,h=1,w=3", "n=2,c=5,h=1,w=4",
                             "n=2,c=3,h=1,w=9", "n=3,c=4,h=7,w=7", "n=2,c=3,h=8,w=8", "n=5,c=1,h=4,w=4"})
      test(type + ":" + size);
    for (const char* size : {"n=1,c=8,h=1,w=1", "n=2,c=8,h=1,w=4", "n=3,c=16,h=3,w=3", "n=1,c=24,h=5,w=8",
                             "n=2,c=3,h=4,w=5", "n=2,c=8,h=16,w=17"})
      test(type + ":" + size + ":layout=nhwc");
    for (const char* place : {"offset", "padded", "strided", "reversed"}) {
      test(type + ":n=2,c=3,h=4,w=8:place=" + place);
      test(type + ":n=2,c=8,h=3,w=4:layout=nhwc:place=" + place);
    }
    for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-100"})
      for (const char* size : {"n=2,c=3,h=4,w=8", "n=2,c=8,h=3,w=4:layout=nhwc"})
        test(type + ":" + size + ":fill=" + fill);
  }
  for (const char* size : {"n=2,c=2,h=40,w=41", "n=1,c=2,h=96,w=96", "n=1,c=130,h=2,w=2",
                           "n=1,c=272,h=2,w=2:layout=nhwc", "n=450,c=9,h=7,w=4", "n=3,c=12,h=1,w=256",
                           "n=90,c=8,h=5,w=5", "n=2,c=8,h=40,w=40:layout=nhwc", "n=2,c=5,h=40,w=40:layout=nhwc"})
    test("f32:" + std::string(size));
  for (const char* size :
       {"n=44,c=16,h=7,w=7", "n=7,c=20,h=3,w=2", "n=2,c=8,h=1,w=257", "n=5,c=19,h=1,w=7", "n=70,c=40,h=2,w=2"})
    test("bf16:" + std::string(size));
  test("f16:n=2,c=3,h=4,w=8:fill=overflow");
  for (const char* fill : {"greatest", "lowest"}) test(std::string("f32:n=4,c=3,h=5,w=5:fill=") + fill);
  for (const char* size : {"n=2,c=3,h=8,w=9", "n=2,c=16,h=5,w=7:layout=nhwc"})
    test("f32:" + std::string(size) + ":warp=64");
  for (const char* size :
       {"n=0,c=3,h=4,w=4", "n=2,c=0,h=4,w=4", "n=2,c=3,h=0,w=4", "n=2,c=1,h=0,w=4", "n=2,c=8,h=0,w=4:layout=nhwc"})
    test("f32:" + std::string(size));
  if (f != BatchNorm::stats) {
    for (const std::string& type : types) {
      test(type + ":n=2,c=3,h=4,w=8,plain=1");
      test(type + ":n=2,c=8,h=3,w=4,plain=1:layout=nhwc");
      test(type + ":n=2,c=3,h=4,w=8:eps=0.5");
      test(type + ":n=2,c=3,h=4,w=9,narrow=1");
      test(type + ":n=2,c=8,h=3,w=4,narrow=1:layout=nhwc");
      test(type + ":n=2,c=3,h=5,w=8:place=inplace");
      test(type + ":n=2,c=8,h=3,w=4:layout=nhwc:place=inplace");
    }
  }
  // Many values of one sign, which one thread adds up.
  test("f16:n=5,c=1,h=377,w=7:fill=uniform");
  test("f32:n=9,c=2,h=60,w=41:fill=uniform:layout=nhwc");
  if (f != BatchNorm::inference)
    for (const char* size : {"n=2,c=3,h=16,w=40", "n=3,c=8,h=16,w=17:layout=nhwc", "n=2,c=5,h=16,w=17"})
      for (const char* kind : {",hard=1", ",hard=2"}) {
        std::string text = size;
        text.insert(std::min(text.find(':'), text.size()), kind);
        test("f32:" + text);
        if (std::string_view(kind) == ",hard=2") test("bf16:" + text);
      }
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"n=32,c=64,h=112,w=112", "n=32,c=64,h=112,w=112:layout=nhwc", "n=32,c=2048,h=7,w=7"})
      book.benches.push_back(op + ":" + type + ":" + size);
  return book;
}

}  // namespace ridge::batch_norm_detail
