// The norms' cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/norm/oracle.hpp>
#include <ridge/norm/request.hpp>
#include <ridge/norm/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace ridge::norm_detail {

// The names in a list such as "x,beta"; all names if there is no list.
inline Names listed(const check::Case& c, std::string_view option, Names all) {
  if (!c.options.has(option)) return all;
  std::erase_if(all, [list = "," + std::string(c.options.text(option)) + ","](std::string_view name) {
    return list.find("," + std::string(name) + ",") == std::string::npos;
  });
  return all;
}

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.op, c.operator_options());
  if (!request) return request.error();
  std::vector<TensorType> types;
  for (std::string_view name : listed(c, "inputs", request->inputs()))
    types.push_back((name == "gamma" || name == "beta") && request->axes == 1
                        ? TensorType{c.dtype, {c.dim("cols")}}
                        : TensorType{c.dtype, {c.dim("rows"), c.dim("cols")}});
  return types;
}

// The tensors as rows of one axis: with axes=2, all of a matrix is one row.
inline std::vector<check::HostTensor> as_rows(const check::Case& c, std::vector<check::HostTensor> in) {
  if (request_of(c.op, c.operator_options())->axes == 1) return in;
  for (check::HostTensor& t : in) t.type.shape = {1, t.rows() * t.cols()};
  return in;
}

// Errors in units of the roundoff u of the type computed in. A sum of n terms errs by at most `summed` u times their
// absolute sum, where `summed` is the number of additions on a term's way: all n if one thread has the row (`serial`),
// as roundings of equal terms fall to one side; else a lane's 32nd or less and a tree, each step of several roundings.
struct Roundings {
  double u;
  bool serial;
  explicit Roundings(DType dtype, bool one_thread = false)
      : u(dtype == f64 ? check::roundoff(f64) : check::roundoff(f32)), serial(one_thread) {}
  static double shared(std::int64_t n) {
    const auto terms = static_cast<double>(n);
    return std::min(terms, 64 + std::max(8 * std::sqrt(terms), terms / 32));
  }
  double summed(std::int64_t n) const { return serial ? static_cast<double>(n) : shared(n); }
};

// Bounds of a row's errors.
//   base      distances are taken from the rounded mean, `slip` off, or from the row's first element
//   offset    the mean of these distances: errors of the sum and of each distance
//   scale     relative: the sum of squares of rounded distances; then the root, 4 u
// In long double: squares of float64's largest numbers are beyond float64's range.
struct RowErrors {
  long double slip, offset, scale, distance;
  RowErrors(const RowOracle& row, std::int64_t cols, double eps, const Roundings& r) {
    const long double summed = r.summed(cols), u = r.u;
    slip = summed * u * (std::fabs(row.mean) + row.apart);
    distance = 2 * row.furthest + slip;
    offset = summed * u * (row.apart + row.furthest + slip) + u * distance;
    const long double variance = std::isinf(row.variance) ? 1 / (row.exact_scale * row.exact_scale) : row.variance;
    const long double squares = variance + slip * slip, divisor = variance + eps;
    scale = divisor > 0 ? ((summed + 8) * u * squares + 2 * u * distance * row.apart) / divisor / 2 + 4 * u : 4 * u;
  }
  // The error of n, x normalised: of the difference, the offset, the scale, the product.
  double normalised(const RowOracle& row, double n, double u) const {
    return static_cast<double>(row.exact_scale * (2 * u * distance + offset) + std::fabs(n) * (scale + 2 * u));
  }
};

// The same for double-floats, where all errors are of second order; u is float32's.
//   additions  on an element's way: those of its lane, which has a 32nd of the row, or a 256th of a longer one, in
//              vectors of four and one element more; a tree of lanes and warps
//   squares    summed for the variance: of x, or of x - base if the mean is far from 0. The kernel decides by its own
//              variance, at 256 times it
struct TwoFloatErrors {
  double offset, scale, u;
  TwoFloatErrors(const RowOracle& row, std::int64_t cols, double eps, bool rms, double roundoff) : u(roundoff) {
    const double additions = static_cast<double>(cols) / (cols < 1032 ? 32 : 256) + 5 + 10 + 2;
    const double of_sum = additions * additions * u * u, mean = std::fabs(row.mean);
    const bool far = mean * mean > 300 * row.variance;
    offset = rms ? 0 : (of_sum + 4 * u * u) * (mean + row.apart);
    const double squares = rms ? row.variance : 2 * (row.variance + (far ? 0 : mean * mean));
    const double of_mean = 2 * mean * offset * (far ? u : 1) + offset * offset, divisor = row.variance + eps;
    scale = divisor > 0 ? ((of_sum + 16 * u * u) * squares + of_mean) / divisor / 2 + 48 * u * u : 48 * u * u;
  }
  // Whether the kernel's x - base leaves float32's range. base is the mean to a step of 2^-23 of the sum of the mean
  // and the root of the row's squares.
  static bool beyond(const RowOracle& row, double x, std::int64_t cols) {
    const double step = 0x1p-23 * (std::fabs(row.mean) + std::sqrt(row.variance * static_cast<double>(cols)));
    return std::fabs(x - row.mean) + step > std::numeric_limits<float>::max();
  }
  // Whether the row's deviation leaves room for a second float; if not, a row is as accurate as with plain sums.
  static bool holds(const RowOracle& row) { return row.exact_scale > 1e-37 && row.exact_scale < 1e37; }
  double normalised(const RowOracle& row, double x, double n) const {
    return row.scale * (offset + 2 * u * u * (std::fabs(x - row.mean) + std::fabs(row.mean))) +
           std::fabs(n) * (scale + 16 * u * u);
  }
};

// An element within `error` before it is rounded into its type. Beyond the type's range it is the infinity.
inline void expect(check::Expected& e, DType dtype, double want, double error) {
  const double stored = check::round_to(dtype, want);
  if (std::isinf(stored)) want = stored;
  e.value.push_back(want);
  e.tolerance.push_back(std::isfinite(want) ? error + check::rounding_error(dtype, std::fabs(want) + error) : 0);
}

// An element for which norm.hpp promises nothing.
inline void expect_anything(check::Expected& e) {
  e.value.push_back(0);
  e.tolerance.push_back(HUGE_VAL);
}

// Whether a row's scale has no number in the type that the row is computed in: with eps 0, if its elements differ by
// less than the normal numbers, or not at all and their sum leaves the type. Its mean is then rounded, and 0 / 0 is a
// small number by another.
inline bool scale_has_no_number(const RowOracle& row, std::int64_t cols, DType dtype) {
  const long double greatest = dtype == f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  if (std::isinf(row.exact_scale)) return std::fabs(row.first) * static_cast<long double>(cols) > greatest;
  return row.exact_scale > greatest;
}

inline const double* values_of(const Names& names, const std::vector<check::HostTensor>& in, std::string_view name) {
  const auto at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  return at < names.size() ? in[at].values.data() : nullptr;
}

inline std::vector<check::Expected> forward_oracle(const check::Case& c, const Request& request,
                                                   const std::vector<check::HostTensor>& in, const Roundings& r) {
  const Names names = listed(c, "inputs", request.inputs());
  const double *residual = values_of(names, in, "residual"), *gamma = values_of(names, in, "gamma"),
               *beta = values_of(names, in, "beta");
  const std::int64_t cols = in[0].cols(), rows = cols ? in[0].rows() : 0;
  const double least = c.dtype == f64 ? 0x1p-1022 : 0x1p-126;  // intermediates below it may underflow
  const bool in_two_floats = request.accumulate == Accumulate::two_float;
  check::Expected y, sum;
  std::vector<double> x(static_cast<std::size_t>(cols));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < cols; ++i) {
      x[i] = in[0].values[row * cols + i];
      if (!residual) continue;
      x[i] += residual[row * cols + i];
      if (c.dtype != f64) x[i] = check::round_to(c.dtype, check::round_to(f32, x[i]));
      sum.value.push_back(x[i]);
      sum.tolerance.push_back(0);
    }
    const RowOracle oracle(x.data(), cols, request.eps, request.norm == Norm::rms);
    const RowErrors errors(oracle, cols, request.eps, r);
    const TwoFloatErrors two_float(oracle, cols, request.eps, request.norm == Norm::rms, r.u);
    for (std::int64_t i = 0; i < cols; ++i) {
      const double n = oracle.normalised(x[i]), g = gamma ? gamma[i] : 1, b = beta ? beta[i] : 0;
      const bool g_decides = std::isinf(g) && (in_two_floats || std::fabs(n) < least * (1 + oracle.scale));
      const bool beyond = in_two_floats && request.norm == Norm::layer && std::isfinite(oracle.mean) &&
                          std::isfinite(x[i]) && TwoFloatErrors::beyond(oracle, x[i], cols);
      if (scale_has_no_number(oracle, cols, c.dtype) || g_decides || beyond) {
        expect_anything(y);
        continue;
      }
      if (in_two_floats && TwoFloatErrors::holds(oracle)) {
        // y is rounded twice, and expect() counts one rounding.
        const double before =
            std::fabs(g) * (two_float.normalised(oracle, x[i], n) + least * (1 + oracle.scale)) + least;
        expect(y, c.dtype, n * g + b, before + r.u * (std::fabs(n * g + b) + before));
        continue;
      }
      // A scale below the normal numbers is a multiple of the least one.
      const double of_scale = oracle.scale > 0 ? std::fabs(n) * (2 * r.u * least) / oracle.scale : 0;
      const double error = std::fabs(g) * (errors.normalised(oracle, n, r.u) + of_scale + least * (1 + oracle.scale)) +
                           2 * r.u * std::fabs(n) * std::fabs(g) + 2 * r.u * std::fabs(b) + least;
      expect(y, c.dtype, std::fma(n, g, b), error);  // n g alone may leave f64's range
    }
  }
  return request.added ? std::vector{y, sum} : std::vector{y};
}

// dx = scale (g - mean of g - n mean of (g n)) + dsum, with g = dy gamma; each mean errs as a sum does, and by the
// error of n. dgamma and dbeta are sums over rows.
inline std::vector<check::Expected> backward_oracle(const check::Case& c, const Request& request,
                                                    const std::vector<check::HostTensor>& in, const Roundings& r) {
  const Names names = listed(c, "inputs", request.inputs());
  const double *dy = in[0].values.data(), *x = in[1].values.data(), *gamma = values_of(names, in, "gamma"),
               *dsum = values_of(names, in, "dsum");
  const std::int64_t cols = in[0].cols(), rows = cols ? in[0].rows() : 0;
  const bool rms = request.norm == Norm::rms;
  const double u = r.u, summed = r.summed(cols), least = c.dtype == f64 ? 0x1p-1022 : 0x1p-126;
  check::Expected dx;
  struct Sum {
    double value = 0, size = 0, error = 0;  // size: sum of the terms' absolute values; error: of the terms
    bool is_unknown = false;
  };
  std::vector<Sum> to_gamma(static_cast<std::size_t>(cols)), to_beta(static_cast<std::size_t>(cols));
  const auto add = [](Sum& sum, double term, double term_error) {
    sum.value += term;
    sum.size += std::fabs(term);
    sum.error += term_error;
  };
  for (std::int64_t row = 0; row < rows; ++row, dy += cols, x += cols, dsum = dsum ? dsum + cols : nullptr) {
    const RowOracle oracle(x, cols, request.eps, rms);
    const RowErrors errors(oracle, cols, request.eps, r);
    const auto g = [&](std::int64_t i) { return dy[i] * (gamma ? gamma[i] : 1); };
    // The kernels' sums over the row: of g, and of g times x's distances.
    double sum_g = 0, sum_gd = 0;
    bool given_finite = true;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double size = std::fabs(g(i));
      sum_g += size;
      sum_gd += size * (std::fabs(x[i] - oracle.mean) + errors.slip);
      given_finite &= std::isfinite(dy[i]) && std::isfinite(x[i]) && (!gamma || std::isfinite(gamma[i]));
    }
    const double greatest = c.dtype == f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const bool n_is_unknown = scale_has_no_number(oracle, cols, c.dtype);
    const bool dx_is_unknown = n_is_unknown || (given_finite && (sum_g > greatest || sum_gd > greatest));
    double mean_g = 0, mean_gn = 0, size_g = 0, size_gd = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double share = g(i) / static_cast<double>(cols);
      mean_g += share;
      mean_gn += share * oracle.normalised(x[i]);
      size_g += std::fabs(share);
      size_gd += std::fabs(share) * (std::fabs(x[i] - oracle.mean) + errors.slip);
    }
    if (rms) mean_g = 0;
    const double error_g = rms ? 0 : (summed + 2) * u * size_g;
    const double error_gn =
        oracle.scale * ((summed + 6) * u * size_gd + size_g * (errors.offset + 2 * u * errors.slip)) +
        std::fabs(mean_gn) * (errors.scale + 2 * u) + oracle.scale * errors.slip * error_g;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double n = oracle.normalised(x[i]), error_n = errors.normalised(oracle, n, u);
      const double inner = g(i) - mean_g - n * mean_gn;
      const double error = oracle.scale * (error_g + std::fabs(n) * error_gn + std::fabs(mean_gn) * error_n +
                                           4 * u * (std::fabs(g(i)) + std::fabs(mean_g) + std::fabs(n * mean_gn))) +
                           std::fabs(oracle.scale * inner) * (errors.scale + 2 * u);
      const double added = dsum ? dsum[i] : 0, want = oracle.scale * inner + added;
      if (dx_is_unknown) expect_anything(dx);
      else
        expect(dx, c.dtype, want,
               error + 2 * u * (std::fabs(want) + std::fabs(added)) + least * (4 + 2 * oracle.scale));
      to_gamma[i].is_unknown |= n_is_unknown;
      add(to_gamma[i], dy[i] * n, std::fabs(dy[i]) * error_n + 2 * least);
      add(to_beta[i], dy[i], 0);
    }
  }
  std::vector<check::Expected> all;
  for (std::string_view name : listed(c, "outputs", request.outputs())) {
    if (name == "dx") {
      all.push_back(dx);
      continue;
    }
    check::Expected e;
    for (const Sum& sum : name == "dgamma" ? to_gamma : to_beta) {
      if (sum.is_unknown) expect_anything(e);
      else expect(e, c.dtype, sum.value, sum.error + (Roundings::shared(rows) + 2) * u * sum.size);
    }
    all.push_back(e);
  }
  return all;
}

inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              const Roundings& r) {
  const Request request = *request_of(c.op, c.operator_options());
  const auto rows = as_rows(c, in);
  return request.backward ? backward_oracle(c, request, rows, r) : forward_oracle(c, request, rows, r);
}
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, Roundings(c.dtype));
}
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant == "naive") expected = oracle_of(c, in, Roundings(c.dtype, true));
}

// fill=scaled,X applies only to the tensor that is normalised: products of scaled tensors would leave nothing to
// compare.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const std::string_view fill = c.options.text("fill");
  if (!fill.starts_with("scaled,")) return;
  const double scale = std::stod(std::string(fill.substr(7)));
  const Request request = *request_of(c.op, c.operator_options());
  const Names names = listed(c, "inputs", request.inputs());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != "x" && names[i] != "residual" && names[i] != "sum")
      for (double& value : in[i].values) value /= scale;
}

// Rows whose squares overflow or underflow the type that they are summed in, and constant rows.
inline void add_range_cases(check::CaseBook& book) {
  const auto test = [&](std::string rest) { book.tests.push_back(book.op + ":" + rest); };
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"rows=6,cols=24", "rows=5,cols=203", "rows=9,cols=64", "rows=3,cols=1000",
                             "rows=2,cols=4099", "rows=2,cols=20001"})
      for (const char* fill : {"scaled,1e25", "scaled,4e37", "scaled,1e-30:eps=0"})
        for (const char* backward : {"", ":backward"})
          if (std::string_view(fill) != "scaled,4e37" || !*backward)  // dx would be below the normal numbers
            test(std::string(type) + ":" + size + ":fill=" + fill + backward);
  for (const char* size : {"rows=6,cols=24", "rows=5,cols=203", "rows=2,cols=4099", "rows=2,cols=20001"})
    for (const char* fill : {"constant,1.6e38", "constant,-1e25", "constant,1e-30"})
      test(std::string("f32:") + size + ":fill=" + fill);
  test("f64:rows=1,cols=7:fill=overflow");
  for (const char* fill : {"shifted,3e4", "shifted,1e10"}) test(std::string("f64:rows=28,cols=9:fill=") + fill);
  for (const char* backward : {"", ":backward"})  // roundings that fall to one side
    for (const char* fill : {"shifted,3e4", "uniform"})
      test(std::string("bf16:rows=1,cols=2038:fill=") + fill + backward);
  for (const char* fill : {"scaled,8e153", "scaled,1e-200:eps=0"})
    for (const char* rest : {"rows=6,cols=24", "rows=5,cols=203", "rows=5,cols=203:backward"})
      test(std::string("f64:") + rest + ":fill=" + fill);
  for (const char* rest :
       {"rows=5,cols=203:warp=64", "rows=13,cols=100:place=inplace", "rows=2,cols=20001:place=inplace"})
    for (const char* fill : {"scaled,1e25", "scaled,1e-30:eps=0", "shifted,-1e25"})
      test(std::string("f32:") + rest + ":fill=" + fill);
  test("bf16:rows=1,cols=1:place=inplace:fill=shifted,-1e20");
  for (const char* rest : {"rows=1,cols=2:eps=-0:fill=denormal", "rows=3,cols=2:fill=special:seed=573704"})
    test(std::string("bf16:") + rest);
}

// Sizes around the variants' capacities, as below; sums that cancel, or hide a small variance behind a large mean.
inline void add_two_float_cases(check::CaseBook& book) {
  const auto test = [&](std::string rest) { book.tests.push_back(book.op + ":f32:" + rest + ":accumulate=two_float"); };
  const bool layer = book.op == "layer_norm", added = book.op.starts_with("add_");
  for (const char* size :
       {"rows=0,cols=5", "rows=5,cols=0", "rows=3,cols=1", "rows=9,cols=33", "rows=5,cols=128", "rows=3,cols=1025"})
    test(size);
  if (layer)
    for (const char* size :
         {"rows=1,cols=1", "rows=5,cols=31", "rows=5,cols=129", "rows=3,cols=1023", "rows=3,cols=1024",
          "rows=2,cols=4096", "rows=2,cols=4099", "rows=1,cols=8193", "rows=2,cols=50257", "rows=1,cols=140000"})
      test(size);
  for (const char* fill : {"shifted,1e4", "alternating,1e4"}) {
    for (const char* size : {"rows=5,cols=200", "rows=9,cols=33:warp=64", "rows=3,cols=1000:warp=64"})
      test(std::string(size) + ":fill=" + fill);
    if (layer) test(std::string("rows=2,cols=5000:fill=") + fill);
    if (layer || book.op == "add_rms_norm") test(std::string("rows=1,cols=70000:fill=") + fill);
  }
  for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,1e4", "constant,-0.1", "shifted,-3e-3"})
    test(std::string("rows=6,cols=200:fill=") + fill);
  for (const char* rest : {"rows=1,cols=3:fill=overflow", "rows=8,cols=11:fill=special:seed=52629"}) test(rest);
  // A mean so near the end of the range that no float of coarser steps lies beyond it.
  for (const char* fill : {"greatest", "lowest"})
    for (const char* size : {"rows=1,cols=1", "rows=3,cols=40"}) test(std::string(size) + ":fill=" + fill);
  for (const char* eps : {"1e-5", "0"})  // 49: 49 times its reciprocal is not 1 in float64
    test(std::string("rows=2,cols=49:fill=constant,1e14:eps=") + eps);
  for (const char* place : {"offset", "padded", "strided", "reversed", "inplace"})
    test(std::string("rows=6,cols=203:place=") + place);
  for (const char* eps : {"0.5", "0"}) test(std::string("rows=5,cols=100:eps=") + eps);
  for (const char* some : {"", ",gamma", ",beta"})
    test("rows=5,cols=300:inputs=" + std::string(added ? "x,residual" : "x") + some);
  if (layer || book.op == "rms_norm")
    for (const char* size :
         {"rows=65536,cols=128", "rows=65536,cols=1024", "rows=16384,cols=4096", "rows=8192,cols=8192"})
      book.benches.push_back(book.op + ":f32:" + size + ":accumulate=two_float");
}

inline check::CaseBook book_of(const std::string& op) {
  check::CaseBook book{.op = op,
                       .keys = {"rows", "cols"},
                       .optional_keys = {},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {}};
  book.draw = op.starts_with("add_") ? op == "add_layer_norm" ? draw<true, true> : draw<true, false>
              : op == "layer_norm" ? draw<false, true>
                                     : draw<false, false>;
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const bool added = op.starts_with("add_"), layer = op == "layer_norm";
  const std::string dy_x = added ? "dy,sum" : "dy,x", x = added ? "x,residual" : "x";
  // Empty, one, and around the capacities of the resident variants for elements of 4 and of 2 bytes. The whole list for
  // layer_norm; the others share its kernels.
  const std::vector<const char*> edges = {
      "rows=0,cols=5",    "rows=5,cols=0",    "rows=1,cols=1",    "rows=3,cols=1",    "rows=5,cols=31",
      "rows=4,cols=32",   "rows=9,cols=33",   "rows=7,cols=127",  "rows=5,cols=128",  "rows=5,cols=129",
      "rows=3,cols=511",  "rows=3,cols=512",  "rows=3,cols=513",  "rows=3,cols=1023", "rows=3,cols=1024",
      "rows=3,cols=1025", "rows=2,cols=2049", "rows=2,cols=4096", "rows=2,cols=4097", "rows=1,cols=8193"};
  const std::vector<const char*> few = {"rows=0,cols=5",  "rows=5,cols=0",   "rows=3,cols=1",
                                        "rows=9,cols=33", "rows=5,cols=128", "rows=3,cols=1025"};
  for (const char* backward : {"", ":backward"}) {
    for (const char* size : layer ? edges : few)
      for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + backward);
    for (const char* type : {"f16", "f64"})
      for (const char* size : {"rows=3,cols=1", "rows=5,cols=100", "rows=3,cols=1000"})
        test(std::string(type) + ":" + size + backward);
    for (const char* type : {"f32", "bf16"})
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        test(std::string(type) + ":rows=6,cols=203:place=" + place + backward);
    for (const char* size : {"rows=9,cols=33", "rows=3,cols=1000"})
      for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":warp=64" + backward);
    test(std::string("f32:rows=5,cols=100:eps=0.5") + backward);
    for (const char* size : {"rows=5,cols=33", "rows=1,cols=1", "rows=0,cols=4", "rows=4,cols=0"})
      for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":axes=2" + backward);
    test(std::string("f64:rows=1,cols=17:eps=0:fill=lowest") + backward);  // a sum beyond the type, and no variance
    test(std::string("bf16:rows=9,cols=72:fill=nan") + backward);
  }
  for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":rows=6,cols=203:place=inplace");
  // Strides of each tensor's own, and gamma apart from vectors where rows are on them.
  for (const char* backward : {"", ":backward"})
    for (int seed = 1; seed <= (layer ? 6 : 2); ++seed)
      test("bf16:rows=7,cols=200:place=mixed:seed=" + std::to_string(seed) + backward);
  // A mean far from 0, for kernels that take distances from 0 first; and rows with their sums in one launch.
  for (const char* type : {"f32", "bf16"}) {
    if (layer) test(std::string(type) + ":rows=5,cols=200:fill=shifted,10:backward");
    if (layer) test(std::string(type) + ":rows=61,cols=136:backward:variant=lean_128");
  }
  // Sums over columns by vectors: more rows than one slice has, columns for less than a block, and one more block.
  for (const char* size : {"rows=300,cols=8", "rows=41,cols=72", "rows=400,cols=136"})
    for (const char* type : {"f32", "bf16"})
      if (layer || type[0] == 'b')
        for (const char* variant : {"block_512", "even_1k", "lean_512"})
          test(std::string(type) + ":" + size + ":backward:variant=" + variant);
  // Blocks beside those of the rows, whose warps share a row where there are several for each; the mean far from 0.
  for (const char* type : {"f32", "bf16"})
    for (const char* rest : {"rows=1,cols=2048", "rows=2,cols=1800", "rows=5,cols=136", "rows=14,cols=704",
                             "rows=3,cols=1032:fill=shifted,10", "rows=1,cols=2040:fill=nan"})
      for (const char* variant : {"lean_512", "lean_2k"})
        if (layer || op == "rms_norm") test(std::string(type) + ":" + rest + ":backward:variant=" + variant);
  test("bf16:rows=1,cols=5952:backward:variant=lean_2k");
  // Rows of any alignment, by elements, around what a row's lanes keep.
  constexpr struct {
    const char *size, *gradient, *variant;
  } kept_elements[] = {{"rows=9,cols=128", "rows=9,cols=64", "elements_128"},
                       {"rows=5,cols=259", "rows=5,cols=130", "elements_512"},
                       {"rows=5,cols=1024", "rows=5,cols=512", "elements_1k"},
                       {"rows=3,cols=2048", "rows=3,cols=1024", "elements_few"},
                       {"rows=2,cols=4096", "rows=2,cols=2048", "elements_few_4k"},
                       {"rows=2,cols=2049", "rows=2,cols=1025", "elements_4k"},
                       {"rows=1,cols=8193", "rows=1,cols=4097", "elements_16k"}};
  for (const char* type : {"f32", "bf16", "f64"})
    for (const char* place : {"offset", "packed", "padded"})
      for (const auto& of : kept_elements) {
        if (type == std::string_view("f64") && !layer) continue;
        const std::string rest = std::string(":place=") + place + ":variant=" + of.variant;
        const bool half = type == std::string_view("f64");  // as many elements as of two tensors
        test(std::string(type) + ":" + (half ? of.gradient : of.size) + rest);
        if (!half) test(std::string(type) + ":" + of.gradient + rest + ":backward");
      }
  if (layer)
    for (const char* rest : {"rows=9,cols=32:variant=elements_128", "rows=5,cols=100:variant=elements_512",
                             "rows=3,cols=256:variant=elements_1k", "rows=3,cols=500:variant=elements_few",
                             "rows=2,cols=1000:variant=elements_4k", "rows=1,cols=4000:variant=elements_16k"})
      test(std::string("f64:") + rest + ":backward");
  for (const char* variant : {"elements_512", "elements_few"})  // a mean far from 0, and squares beyond the range
    for (const char* rest : {"f32:rows=5,cols=100:fill=shifted,10", "bf16:rows=5,cols=100:fill=shifted,10",
                             "f64:rows=5,cols=100:fill=shifted,1e4", "f32:rows=5,cols=100:fill=scaled,1e25",
                             "f32:rows=5,cols=100:fill=nan", "f32:rows=5,cols=100:warp=64:fill=shifted,10"})
      for (const char* backward : {"", ":backward"})
        if (layer || op == "add_rms_norm") test(std::string(rest) + ":variant=" + variant + backward);
  // Sums over columns by elements: more rows than one slice has, and columns for part of a group, and for several.
  for (const char* type : {"f32", "bf16", "f64"})
    for (const char* rest : {"rows=70,cols=7", "rows=131,cols=129:place=padded", "rows=300,cols=33:place=padded"})
      if (layer || type[0] == 'b') test(std::string(type) + ":" + rest + ":backward:variant=block_reduce");
  // Gradients that load the next row ahead: more rows than the blocks here have at a time.
  for (const char* type : {"f32", "bf16"})
    for (const char* rest :
         {":rows=700,cols=8:variant=ahead_8:backward", ":rows=331,cols=64:variant=ahead_16:backward",
          ":rows=171,cols=128:variant=ahead_32:backward", ":rows=171,cols=192:variant=ahead_48:backward",
          ":rows=171,cols=256:variant=ahead_64:backward", ":rows=97,cols=72:variant=ahead_32:backward:fill=shifted,10",
          ":rows=97,cols=64:variant=ahead_32:backward:fill=nan"})
      if (layer || (op == "rms_norm" && type[0] == 'b')) test(std::string(type) + rest);
  for (const char* type : {"f32", "bf16"}) {  // two blocks of short rows
    test(std::string(type) + ":rows=70,cols=64");
    test(std::string(type) + ":rows=70,cols=64:backward");
  }
  for (const char* some : {"", ",gamma", ",beta"})
    for (const char* type : {"f32", "f16"}) test(std::string(type) + ":rows=5,cols=300:inputs=" + x + some);
  if (op == "rms_norm")  // only a factor of the row and one of the column; few vectors in the last iteration
    for (const char* inputs : {"x,gamma", "x"})
      for (const char* type : {"f32", "f16", "bf16"}) test(std::string(type) + ":rows=2,cols=8200:inputs=" + inputs);
  for (const char* fill : {"inf", "denormal", "ones", "constant,1e4", "constant,-0.1"})
    for (const char* type : {"f32", "f16", "bf16", "f64"})
      if (layer || type[1] == '3') test(std::string(type) + ":rows=6,cols=200:fill=" + fill);
  test("f16:rows=6,cols=200:fill=constant,60000");
  // The sum of a row has all its bits, and so has that of its distances from the mean.
  if (layer)
    for (const char* size : {"rows=1,cols=71", "rows=2,cols=72", "rows=1,cols=1004"})
      test(std::string("f32:") + size + ":inputs=" + x + ":fill=constant,1e-30");
  if (!added) test("f16:rows=6,cols=200:fill=overflow");
  // More rows than fused gradients have blocks here, which start at all alignment offsets; and more than one slice of
  // rows.
  for (const char* type : {"f32", "bf16"}) {
    test(std::string(type) + ":rows=19,cols=201:backward");
    if (layer) test(std::string(type) + ":rows=21,cols=72:backward:inputs=" + dy_x + ":outputs=dx,dbeta");
    if (layer) test(std::string(type) + ":rows=150,cols=131:backward:variant=fused_128");
    if (layer) test(std::string(type) + ":rows=150,cols=131:backward:variant=block_reduce");
    if (layer) test(std::string(type) + ":rows=70,cols=1027:backward");  // several rows of each of Hopper's clusters
  }
  test("f32:rows=7,cols=130:backward:outputs=dx");
  test("f32:rows=7,cols=130:backward:outputs=dx,dgamma");
  test("f32:rows=7,cols=130:backward:inputs=" + dy_x);
  if (added) test("f32:rows=7,cols=130:backward:inputs=dy,sum,dsum");
  // A few columns: by every variant, then only by spans, which take 700 rows in the time in which others take ten: more
  // rows than a block loads at a time, lengths with and without a factor of 32 in them.
  for (const char* type : {"f32", "bf16"})
    for (const char* rest : {"rows=9,cols=3", "rows=5,cols=17:backward", "rows=33,cols=32"})
      test(std::string(type) + ":" + rest);
  for (const char* backward : {":variant=span_32", ":backward:variant=span_sums_32"})
    for (const char* type : {"f32", "f16", "bf16", "f64"})
      for (const char* rest : {"rows=700,cols=3", "rows=300,cols=17", "rows=129,cols=24", "rows=257,cols=32",
                               "rows=65,cols=2:warp=64", "rows=300,cols=17:place=offset", "rows=70,cols=17:fill=nan"})
        if (layer || type[0] != 'f' || type[1] == '3') test(std::string(type) + ":" + rest + backward);
  for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":rows=130,cols=6:place=inplace:variant=span_32");
  const std::string sums = ":variant=span_sums_32";
  test("f32:rows=300,cols=17:backward:outputs=dx" + sums);
  test("f32:rows=300,cols=17:backward:outputs=dx,dbeta" + sums);
  if (added) test("f32:rows=300,cols=17:backward:inputs=dy,sum,dsum" + sums);
  if (added) test("bf16:rows=300,cols=17:backward:inputs=dy,sum,gamma,dsum" + sums);
  // A few long rows, in slices; the last slice is short.
  for (const char* type : {"f32", "bf16"}) {
    test(std::string(type) + ":rows=3,cols=30011:place=offset");
    test(std::string(type) + ":rows=1,cols=30000:place=inplace");
    test(std::string(type) + ":rows=3,cols=20001:warp=64:variant=split");
    test(std::string(type) + ":rows=2,cols=30011:backward:variant=split");
    if (layer) test(std::string(type) + ":rows=1,cols=20000:fill=constant,1e4");
    if (added) test(std::string(type) + ":rows=2,cols=20001:backward:variant=split:inputs=dy,sum,dsum");
  }
  // The longest rows that are kept on chip, and longer ones.
  if (layer) {
    for (const char* size : {"rows=1,cols=16385", "rows=2,cols=50257", "rows=1,cols=140000"})
      for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size);
    test("f32:rows=5,cols=8195:backward:variant=fused_2k");
    test("bf16:rows=9,cols=16391:backward:variant=fused_2k");
    // several rows for each of Hopper's clusters, also of eight blocks, that start at all alignment offsets, and at one
    test("bf16:rows=21,cols=9001:backward");
    test("f16:rows=70,cols=8192:backward:inputs=" + dy_x);
    test("f32:rows=1,cols=30011:backward:variant=block_16k");
    test("bf16:rows=1,cols=50257:backward:variant=block_16k");
  }
  if (op == "rms_norm") test("f16:rows=70,cols=8192:backward");
  if (op == "add_rms_norm") test("bf16:rows=2,cols=50257:variant=block_16k");
  for (const char* type : {"f32", "bf16"}) {
    for (const char* size : {"rows=65536,cols=128", "rows=65536,cols=1024", "rows=16384,cols=4096",
                             "rows=8192,cols=8192", "rows=4096,cols=32768", "rows=1024,cols=131072",
                             "rows=4096,cols=50257", "rows=1,cols=4096", "rows=1,cols=8192"})
      book.benches.push_back(op + ":" + type + ":" + size);
    for (const char* size :
         {"rows=65536,cols=128", "rows=16384,cols=4096", "rows=8192,cols=8192", "rows=4096,cols=50257"})
      book.benches.push_back(op + ":" + type + ":" + size + ":backward");
    if (layer)
      for (const char* backward : {"", ":backward"})
        for (const char* size : {"rows=1000000,cols=17", "rows=1,cols=10000000"})
          book.benches.push_back(op + ":" + type + ":" + size + backward);
  }
  add_range_cases(book);
  add_two_float_cases(book);
  return book;
}

}  // namespace ridge::norm_detail
