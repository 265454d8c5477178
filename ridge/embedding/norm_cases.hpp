// embedding_norm's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/embedding/cases.hpp>
#include <ridge/embedding/norm_oracle.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::embedding_norm_detail {

// gamma and beta, as far as the case's option `inputs` names them; both without that option.
inline std::vector<std::string_view> case_vectors(const check::Case& c) {
  std::vector<std::string_view> names{"gamma", "beta"};
  if (!c.options.has("inputs")) return names;
  std::erase_if(names, [list = "," + std::string(c.options.text("inputs")) + ","](std::string_view name) {
    return list.find("," + std::string(name) + ",") == std::string::npos;
  });
  return names;
}

// Table and indices as in embedding's cases.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto types = embedding_detail::case_inputs(c);
  if (!types) return types;
  for (std::size_t i = 0; i < case_vectors(c).size(); ++i) types->push_back({c.dtype, {c.dim("cols")}});
  return types;
}

// Bounds of a row's errors, with u float32's roundoff. An element passes through at most `additions` additions of a
// sum: those of its lane, which has at most a 32nd of the row, and those of a tree.
//   slip     error of a distance from the mean: rounding of x - first, and of their mean, each term with 1/cols rounded
//   scale    relative error: of the variance, whose distances are off by slip and their own rounding; eps and root, 6 u
struct RowErrors {
  double slip = 0, scale = 0;

  RowErrors(const RowOracle& row, std::int64_t cols, double eps, bool rms, double u) {
    const double additions = static_cast<double>(cols) / 32 + 48;
    slip = rms ? 0 : u * (row.furthest + (additions + 3) * row.from_first);
    const double divisor = row.variance + eps;
    const double of_squares = (additions + 6) * u * row.variance + 2 * slip * row.apart + 2 * slip * slip;
    scale = 6 * u + (std::isfinite(divisor) && divisor > 0 ? of_squares / divisor / 2 : 0);
  }
  // Error of x normalised to n: the distance, rounded twice; the scale; the product.
  double normalised(const RowOracle& row, double x, double n, double u) const {
    return row.scale * (slip + 2 * u * std::fabs(x - row.mean)) + std::fabs(n) * (scale + 2 * u);
  }
};

// x is exact: both roundings of a product are known. y is within its error before it is rounded into its type, and an
// infinity beyond the type's range.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const std::string_view op = c.op;
  const std::int64_t rows = in[0].type.shape[0], cols = in[0].type.shape[1];
  const double scale = static_cast<float>(*c.options.real(op, "scale", 1)), eps = *c.options.real(op, "eps", 1e-5);
  const bool rms = c.options.text("mode", "rms") == "rms";
  const double u = check::roundoff(f32), least = 0x1p-126;  // lost by underflow
  const double *gamma = nullptr, *beta = nullptr;
  const auto names = case_vectors(c);
  for (std::size_t i = 0; i < names.size(); ++i) (names[i] == "gamma" ? gamma : beta) = in[2 + i].values.data();

  check::Expected x, y;
  if (cols == 0) return {x, y};
  std::vector<double> row(static_cast<std::size_t>(cols));
  for (const double index : in[1].values) {
    for (std::int64_t col = 0; col < cols; ++col) {
      double& e = row[static_cast<std::size_t>(col)];
      e = embedding_detail::element_oracle(in[0].values, rows, cols, index, col);
      if (scale != 1) e = check::round_to(c.dtype, check::round_to(f32, e * scale));
      x.value.push_back(e);
      x.tolerance.push_back(0);
    }
    const RowOracle oracle(row.data(), cols, eps, rms);
    const RowErrors errors(oracle, cols, eps, rms, u);
    for (std::int64_t col = 0; col < cols; ++col) {
      const double e = row[static_cast<std::size_t>(col)], n = oracle.normalised(e);
      const double g = gamma ? gamma[col] : 1, b = beta ? beta[col] : 0;
      const double error = std::fabs(g) * (errors.normalised(oracle, e, n, u) + least * (1 + oracle.scale)) +
                           2 * u * (std::fabs(n * g) + std::fabs(b)) + least;
      double want = n * g + b;
      // Distances that leave float32's range.
      if (!rms && std::isinf(check::round_to(f32, oracle.furthest))) want = std::numeric_limits<double>::quiet_NaN();
      if (const double stored = check::round_to(c.dtype, want); std::isinf(stored)) want = stored;
      // An infinite gamma gives NaN if it multiplies 0, which a subnormal number may become. With eps 0, rows of
      // subnormal numbers have no scale.
      const bool no_scale = std::isfinite(oracle.scale) && std::isinf(check::round_to(f32, oracle.scale));
      const bool unknown = no_scale || (std::isinf(g) && std::fabs(n) < least * (1 + oracle.scale));
      y.value.push_back(want);
      y.tolerance.push_back(unknown               ? std::numeric_limits<double>::infinity()
                            : std::isfinite(want) ? error + check::rounding_error(c.dtype, std::fabs(want) + error)
                                                  : 0);
    }
  }
  return {x, y};
}

inline check::CaseBook book() {
  const std::string op = "embedding_norm";
  check::CaseBook book{.op = op,
                       .keys = {"rows", "cols", "n"},
                       .optional_keys = {"b", "wide"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = embedding_detail::case_adjust,
                       .tests = {},
                       .benches = {},
                       .adjusts_small = true,
                       .draw = embedding_detail::draw_norm};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* mode : {"", ":mode=layer"}) {
    const bool rms = !*mode;
    for (const char* type : {"f32", "f16", "bf16"}) {
      const auto each = [&](const std::string& rest) { test(std::string(type) + ":" + rest + mode); };
      for (const char* size : {"rows=5,cols=1,n=7", "rows=5,cols=4,n=9", "rows=5,cols=8,n=1", "rows=7,cols=9,n=33",
                               "rows=9,cols=24,n=129", "rows=100,cols=264,n=31", "rows=9,cols=16,b=3,n=5",
                               "rows=9,cols=24,b=2,n=6,wide=1", "rows=9,cols=1025,n=3,wide=1", "rows=0,cols=8,n=5",
                               "rows=5,cols=0,n=5", "rows=5,cols=8,n=0", "rows=5,cols=8,b=0,n=3"})
        each(size);
      for (const char* place : {"offset", "padded", "strided", "reversed"}) {
        each("rows=9,cols=16,n=37:place=" + std::string(place));
        each("rows=9,cols=72,b=3,n=7,wide=1:place=" + std::string(place));
      }
      for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,1e4", "constant,-0.1", "shifted,1e4"})
        each("rows=9,cols=200,n=21:fill=" + std::string(fill));
      each("rows=9,cols=200,n=21:fill=overflow");  // squares overflow; in mode layer distances too, except f16's
      each("rows=9,cols=2,n=21:fill=overflow");
      for (const char* scale : {"11.3137085", "-0.5", "0"}) {
        each("rows=9,cols=136,n=37:scale=" + std::string(scale));
        each("rows=9,cols=7,n=37:scale=" + std::string(scale));
      }
      for (const char* some : {"", ",gamma", ",beta"})
        each("rows=9,cols=136,n=9:inputs=table,indices" + std::string(some));
      each("rows=9,cols=136,n=9:eps=0.5");
      each("rows=1,cols=3,n=1,wide=1:fill=special:seed=370875");
      each("rows=9,cols=136,n=13:eps=0");
      each("rows=1,cols=1,n=1:eps=-0:fill=denormal");
      each("rows=9,cols=32,n=300:warp=64");
      each("rows=9,cols=1032,n=5:warp=64");
    }
    // Squares overflow, distances do not.
    for (const char* type : {"f32", "bf16"})
      for (const char* scale : {"1e25", "1e-30:eps=0"})
        for (const char* cols : {"136", "9"})
          test(std::string(type) + ":rows=9,cols=" + cols + ",n=21:scale=" + scale + mode);
    // Around the number of vectors that the variants keep.
    for (const char* cols : {"124", "128", "132", "508", "512", "516", "2048", "2052", "4092", "4096", "4100", "8192",
                             "8196", "16384", "16388"})
      test("f32:rows=3,cols=" + std::string(cols) + ",n=5" + mode);
    for (const char* cols : {"248", "256", "264", "1016", "1024", "1032", "4096", "4104", "8184", "8192", "8200",
                             "16384", "16392", "32768", "32776"})
      if (rms) test("bf16:rows=3,cols=" + std::string(cols) + ",n=5");
  }
  // A decoder step of a few sequences, a prompt, and short rows.
  for (const char* type : {"bf16", "f32"})
    for (const char* size : {"rows=128256,cols=4096,n=1", "rows=128256,cols=4096,n=64", "rows=128256,cols=4096,n=8192",
                             "rows=152064,cols=3584,n=8192", "rows=50257,cols=768,n=65536"})
      book.benches.push_back(op + ":" + type + ":" + size + ":inputs=table,indices,gamma");
  book.benches.push_back(op + ":bf16:rows=30522,cols=768,n=8192:mode=layer");
  return book;
}

}  // namespace ridge::embedding_norm_detail
