// dwconv's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/dwconv/oracle.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::dwconv_detail {

struct CaseSize {
  std::int64_t b, c, t, l;
  explicit CaseSize(const check::Case& of) : b(of.dim("b")), c(of.dim("c")), t(of.dim("t")), l(of.dim("l", t)) {}
};

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto backward = c.options.flag("dwconv", "backward");
  if (!backward) return backward.error();
  const CaseSize n(c);
  std::vector<TensorType> types{{c.dtype, {n.b, n.c, n.t}}, {c.dtype, {n.c, n.l}}};
  if (*backward) types.insert(types.begin(), types[0]);
  return types;
}

// Sums of n products in float32 have n roundings. On tensor cores, in units u of float32 relative to the terms'
// magnitudes: each operand is kept to 2 u, the product of the two remainders (4 u) is left out, and eight additions per
// chunk truncate at 2 u each. Then one rounding into the type. Sums beyond the type's range are infinite, and may have
// become so before a term of the other sign.
inline void expect(check::Expected& e, DType dtype, const Term& of, double eps) {
  const double u = check::roundoff(f32), want = of.sum + eps;
  const double n = static_cast<double>(of.terms);
  const double tolerance = (n + 26) * u * (of.size + std::fabs(eps)) + n * 0x1p-149;
  e.value.push_back(
      std::isfinite(want) ? (std::isinf(check::round_to(dtype, want)) ? check::round_to(dtype, want) : want) : want);
  e.tolerance.push_back(std::isfinite(want) ? tolerance + check::rounding_error(dtype, std::fabs(want) + tolerance)
                                            : 0);
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const CaseSize n(c);
  const auto row = [&](const check::HostTensor& x, std::int64_t b, std::int64_t ch) {
    return x.values.data() + (b * n.c + ch) * n.t;
  };
  if (in.size() == 2) {
    const double eps = static_cast<float>(*c.options.real("dwconv", "eps", 0));
    check::Expected out;
    for (std::int64_t b = 0; b < n.b; ++b)
      for (std::int64_t ch = 0; ch < n.c; ++ch)
        for (std::int64_t t = 0; t < n.t; ++t)
          expect(out, c.dtype, output_oracle(row(in[0], b, ch), in[1].values.data() + ch * n.l, n.l, t), eps);
    return {out};
  }
  check::Expected dk, dw;
  for (std::int64_t b = 0; b < n.b; ++b)
    for (std::int64_t ch = 0; ch < n.c; ++ch)
      for (std::int64_t u = 0; u < n.t; ++u)
        expect(dk, c.dtype, k_gradient_oracle(row(in[0], b, ch), in[2].values.data() + ch * n.l, n.t, n.l, u), 0);
  for (std::int64_t ch = 0; ch < n.c; ++ch)
    for (std::int64_t i = 0; i < n.l; ++i) {
      Term sum;
      for (std::int64_t b = 0; b < n.b; ++b)
        add_w_gradient_oracle(sum, row(in[0], b, ch), row(in[1], b, ch), n.t, n.l - 1 - i);
      expect(dw, c.dtype, sum, 0);
    }
  return {dk, dw};
}

// The error that a row's transforms add, in units u of float32. Each of k radix-2 levels (log2 of the points) adds at
// most 7 u to a signal's norm: sixteen numbers meet in four additions (4 u), a product with a constant (3.5 u), and one
// with a twiddle that is itself a product of up to four (4 * 2 u + 3 * 2.8 u + 2.8 u): 28 u for four levels. Two
// transforms and their product err by (14 k + 3) u of the product of both norms, each output of the inverse by 7 k u
// more, and all tiles are added up: by Cauchy and Schwarz, with the norms of all tiles, in which a step of q counts
// twice. The other row of a pair, scaled to the same power of two, is at most twice as large at every step.
constexpr double spectral_levels = 13;
inline double spectral_error(double p_squares, double q_squares, double tiles) {
  return (21 * spectral_levels + 3 + tiles) * check::roundoff(f32) * std::sqrt(2 * p_squares * q_squares);
}
// The same for a row in a transform of its own, with one level per factor of two, and nothing in common with another
// row. Two multiply-adds, and a third from their result, are 3.6 u of a level's norm; a root, a computed one (2.8 u)
// times a constant (1 u + 2.8 u), adds 6.6 u; the inverse has 1 u, 2.8 u and 6.6 u: 11 u at
// most.
constexpr double ring_levels = 13;
inline double ring_error(double p_squares, double q_squares, double rows) {
  return (33 * ring_levels + 3 + rows) * check::roundoff(f32) * std::sqrt(p_squares * q_squares);
}
inline double squares(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::isfinite(x[i]) ? x[i] * x[i] : 0;
  return sum;
}
inline double pair_squares(const double* x, std::int64_t n) {
  double greatest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (std::isfinite(x[i])) greatest = std::max(greatest, std::fabs(x[i]));
  return squares(x, n) + 4 * greatest * greatest * static_cast<double>(n);
}

inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (!variant.starts_with("fft_")) return;
  const CaseSize n(c);
  const bool whole = variant.starts_with("fft_row_");
  const double tiles = static_cast<double>(n.t) / 512 + 1;
  const auto widen = [&](check::Expected& e, std::int64_t i, double by) {
    const double want = e.value[static_cast<std::size_t>(i)];
    double& tolerance = e.tolerance[static_cast<std::size_t>(i)];
    if (std::isfinite(want)) tolerance += by + check::rounding_error(c.dtype, std::fabs(want) + tolerance + by);
  };
  const auto filter = [&](std::int64_t ch) { return squares(in.back().values.data() + ch * n.l, n.l); };
  const std::vector<double>& p = in[0].values;  // k, or dy
  for (std::int64_t row = 0; row < n.b * n.c; ++row) {
    const double* of = p.data() + row * n.t;
    const double by = whole ? ring_error(squares(of, n.t), filter(row % n.c), 1)
                            : spectral_error(pair_squares(of, n.t), filter(row % n.c), tiles);
    for (std::int64_t t = 0; t < n.t; ++t) widen(expected[0], row * n.t + t, by);
  }
  if (in.size() == 2) return;
  for (std::int64_t ch = 0; ch < n.c; ++ch) {
    double of_dy = 0, of_k = 0;
    for (std::int64_t b = 0; b < n.b; ++b) {
      of_dy += squares(p.data() + (b * n.c + ch) * n.t, n.t);
      of_k += squares(in[1].values.data() + (b * n.c + ch) * n.t, n.t);
    }
    const double rows = static_cast<double>(n.b);
    const double by = whole ? ring_error(of_dy, of_k, rows) : spectral_error(of_dy, of_k, tiles * rows);
    for (std::int64_t i = 0; i < n.l; ++i) widen(expected[1], ch * n.l + i, by);
  }
}

inline check::CaseBook book() {
  const std::string op = "dwconv";
  check::CaseBook book{.op = op,
                       .keys = {"b", "c", "t"},
                       .optional_keys = {"l"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = nullptr,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  // Sizes 0 and 1; around chunks of 64, tiles of 256 and strips of 256 and 512; batches around 8 and 32; filters that
  // are shorter and longer than the signal.
  for (const char* type : {"f32", "bf16"})
    for (const char* direction : {"", ":backward"})
      for (const char* size : {"b=0,c=2,t=3", "b=2,c=0,t=3", "b=2,c=3,t=0", "b=2,c=3,t=5,l=0", "b=1,c=1,t=1",
                               "b=3,c=2,t=7", "b=2,c=2,t=64", "b=9,c=1,t=65", "b=33,c=1,t=63", "b=8,c=2,t=255",
                               "b=5,c=2,t=257,l=40", "b=32,c=1,t=128,l=128", "b=3,c=2,t=100,l=130", "b=2,c=1,t=513,l=1",
                               "b=31,c=1,t=192,l=65", "b=1,c=1,t=1100", "b=4,c=1,t=772"})
        test(std::string(type) + ":" + size + direction);
  // Around half the size of transforms; filters shorter than the half, longer, and longer than the row.
  for (const char* direction : {"", ":backward"})
    for (const char* size :
         {"b=2,c=1,t=511", "b=1,c=2,t=512", "b=3,c=1,t=514", "b=1,c=1,t=1537", "b=3,c=1,t=1600,l=513",
          "b=1,c=1,t=2100,l=511", "b=1,c=1,t=600,l=1300", "b=1,c=1,t=2048", "b=35,c=2,t=1024", "b=10,c=1,t=1025,l=1024",
          "b=1,c=2,t=2049", "b=1,c=1,t=4096", "b=1,c=1,t=4097,l=60", "b=1,c=1,t=8192,l=70", "b=1,c=1,t=8193,l=9"})
      test("f32:" + std::string(size) + direction);
  for (const char* type : {"f16", "f32"})
    for (const char* size : {"b=3,c=2,t=100", "b=9,c=2,t=260,l=70", "b=1,c=3,t=516"})
      for (const char* direction : {":fill=ints", ":fill=ints:backward"})
        test(std::string(type) + ":" + size + direction);
  test("f16:b=9,c=2,t=70");
  test("f16:b=9,c=2,t=70:backward");
  for (const char* type : {"f32", "f16", "bf16"}) {
    test(std::string(type) + ":b=3,c=2,t=70:eps=0.5");
    for (const char* fill : {"ones", "denormal", "constant,0", "constant,-1e-30", "constant,1e4"})
      for (const char* direction : {"", ":backward"})
        test(std::string(type) + ":b=9,c=2,t=70:fill=" + fill + direction);
    for (const char* fill : {"nan", "inf"})
      for (const char* direction : {"", ":backward"})
        test(std::string(type) + ":b=3,c=2,t=130,l=9:fill=" + fill + direction);
  }
  for (const char* type : {"f32", "bf16"})
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* direction : {"", ":backward"})
        test(std::string(type) + ":b=9,c=2,t=132:place=" + place + direction);
  for (const char* direction : {"", ":backward"}) test("f32:b=9,c=2,t=260:warp=64" + std::string(direction));
  for (const char* type : {"f32", "bf16"})
    for (const char* direction : {"", ":backward"})
      for (const char* size : {"b=32,c=768,t=256", "b=32,c=768,t=768", "b=32,c=768,t=1024", "b=8,c=2048,t=4096"})
        book.benches.push_back(op + ":" + type + ":" + size + direction);
  return book;
}

}  // namespace ridge::dwconv_detail
