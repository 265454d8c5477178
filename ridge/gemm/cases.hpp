// gemm's cases, for tests, benchmarks and the command line.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/gemm/oracle.hpp>
#include <ridge/gemm/request.hpp>
#include <ridge/gemm/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

namespace ridge::gemm_detail {

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const Request& r = *request;
  const std::int64_t m = c.dim("m"), n = c.dim("n"), k = c.dim("k");
  const DType out = r.out_of(c.dtype);
  std::vector<TensorType> types;
  const auto matrix = [&](DType dtype, std::int64_t rows, std::int64_t cols) {
    TensorType type{dtype, {rows, cols}};
    if (c.has("batch")) type.shape.insert(type.shape.begin(), c.dim("batch"));
    types.push_back(type);
  };
  r.transposed_a() ? matrix(c.dtype, k, m) : matrix(c.dtype, m, k);
  r.transposed_b() ? matrix(c.dtype, n, k) : matrix(c.dtype, k, n);
  if (r.has_c()) matrix(out, m, n);
  if (r.bias != GemmBias::none) types.push_back({out, {r.bias == GemmBias::along_n ? n : m}});
  if (r.residual) matrix(out, m, n);
  if (r.gate) types.push_back(types[1]);
  if (r.gate_bias) types.push_back({out, {n}});
  return types;
}

// x as stored: integers saturate and round to nearest even; other types as in round_to.
inline double as_stored(DType dtype, double x) {
  if (dtype != i8) return check::round_to(dtype, x);
  return std::isnan(x) ? 0 : std::clamp(std::nearbyint(x), -128.0, 127.0);
}

// Tolerance. u is the roundoff of the computation type (float32, or float64 for f64). A sum of k products, each rounded
// or fused, in any order, errs by at most (k + 1) u of the products' absolute sum. alpha, beta C and bias add 3
// roundings of the whole. An activation amplifies an error by at most its slope, and itself errs by 8
// operations of one unit around an exponential of its argument (as derived in elementwise/cases.hpp); residual and
// scale: 2 roundings. Then one rounding to D's type. Underflows on the way are lost entirely.
//
// Errors of tensor cores, relative to the products' absolute sum: TF32 rounds either input to 11 bits, at most 2^-11 of
// it. Three products of parts err by 2^-20 (gemm.hpp). Those of 8-bit floats align 32 products and the sum so far to
// the largest exponent and keep 13 bits of each: 33 of 2^-13 per 32 products, of the whole sum or of 128 products.
//
// Exact where everything is: small whole numbers (fill=ints, ones), whole alpha, beta and scale, and no activation but
// relu; then D is the exact result rounded once.
//
// In double-float arithmetic each product is exact, and the sum errs by its one rounding and by (k + 2)^2 u^2 of the
// products' absolute sum (Ogita, Rump and Oishi's Dot2).
//
// A gate multiplies: each factor's error is multiplied by the other factor, plus one more rounding.
class ElementOracle {
 public:
  ElementOracle(const check::Case& c, const Request& r) : s_(r.scalars), dtype_(c.dtype), out_(r.out_of(c.dtype)) {
    k_ = s_.alpha == 0 ? 0 : c.dim("k");
    const std::string_view fill = c.options.text("fill", "normal");
    const auto whole = [](double x) { return x == std::floor(x); };
    exact_ = (dtype_ == i8 || fill == "ints" || fill == "ones") && whole(s_.alpha) && whole(s_.beta) &&
             whole(s_.scale) && (s_.activation == Activation::none || s_.activation == Activation::relu);
    u_ = check::roundoff(dtype_ == f64 ? f64 : f32);
    const double terms = static_cast<double>(s_.math == GemmMath::fast ? k_ : std::min<std::int64_t>(k_, 128));
    lost_ = s_.math == GemmMath::tf32              ? 0x1p-10 * (1 + 0x1p-12)
            : s_.math == GemmMath::tf32x3          ? 0x1p-20
            : dtype_ == f8e4m3 || dtype_ == f8e5m2 ? std::ceil(terms / 32) * 33 * 0x1p-13
                                                   : 0;
    least_ = dtype_ == f64 ? 0x1p-1074 : 0x1p-149;
  }

  std::int64_t k() const { return k_; }  // 0 if alpha is 0: then there are no products, not even of NaN

  struct Addends {
    std::optional<double> c = {}, bias = {}, residual = {}, gate_bias = {};  // of the element
  };
  void add_to(check::Expected& e, const DotOracle& dot, const DotOracle* gate, const Addends& addends) const {
    const double u = u_;
    const bool two_float = s_.accumulate == Accumulate::two_float;
    long double sum = k_ == 0 ? 0 : s_.alpha * dot.sum,
                size = k_ == 0     ? 0
                       : two_float ? std::fabs(sum)  // it leaves the sum of products rounded once
                                   : std::fabs(s_.alpha) * dot.magnitude;
    // What leaves the type that it is computed in is infinite there, or is not where a step is fused: a step after it
    // that would make anything else of it may give a NaN, an infinity or a number.
    const long double greatest = dtype_ == f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
    const auto leaves = [&](long double x) { return std::isfinite(x) && std::fabs(x) > greatest; };
    bool left = false;
    const auto add_within = [&](long double& to, long double addend) {
      const bool either = leaves(to) || leaves(addend);
      to += addend;
      left |= either && !leaves(to);
    };
    const auto add = [&](long double addend) { add_within(sum, addend), size += std::fabs(addend); };
    if (addends.c) add(static_cast<long double>(s_.beta) * *addends.c);
    if (addends.bias) add(*addends.bias);
    const auto error_of = [&](const DotOracle& product) -> long double {
      if (k_ == 0) return 0;
      if (two_float) {
        const double all = static_cast<double>(k_ + 2) * u;
        return std::fabs(s_.alpha) * (2 * u * std::fabs(product.sum) + all * all * product.magnitude);
      }
      return ((k_ + 1) * u + lost_) * std::fabs(s_.alpha) * product.magnitude;
    };
    long double error = error_of(dot) + 3 * u * size + (k_ + 4) * least_ * (1 + std::fabs(s_.alpha));
    long double value = activation_oracle(name(s_.activation), sum);
    if (s_.activation != Activation::none && s_.activation != Activation::relu) {
      const long double a = std::fabs(sum);
      const long double amplified = s_.activation == Activation::gelu        ? a * a
                                    : s_.activation == Activation::gelu_tanh ? 6.4L * a * (1 + 0.045L * a * a)
                                                                             : a;
      error = check::activation_slope(name(s_.activation)) * error +
              (8 + std::min(amplified, 1000.0L)) * 4 * u * std::fabs(value) + 8 * least_ +
              check::lost_below_normal(name(s_.activation), sum, dtype_ == f64 ? 0x1p-1022L : 0x1p-126L);
      if (s_.activation == Activation::gelu) error += check::quick_gelu_error(out_, sum, value);
    }
    if (gate) {
      const long double product = k_ == 0 ? 0 : s_.alpha * gate->sum;
      long double by = product;
      if (addends.gate_bias) add_within(by, *addends.gate_bias);
      const bool before = leaves(value) || leaves(by);
      const long double by_error =
          error_of(*gate) + u * std::fabs(product) + u * std::fabs(by) + (k_ + 4) * least_ * (1 + std::fabs(s_.alpha));
      error = error * (std::fabs(by) + by_error) + std::fabs(value) * by_error + u * std::fabs(value * by) + least_;
      value *= by;
      left |= before && !leaves(value);
    }
    if (addends.residual) add_within(value, *addends.residual);
    const bool before_scale = leaves(value);
    value *= s_.scale;
    left |= before_scale && !leaves(value);
    error = std::fabs(s_.scale) * (error + 2 * u * std::fabs(value / (s_.scale == 0 ? 1 : s_.scale))) +
            u * std::fabs(value);
    double want = static_cast<double>(value), tolerance = 0;
    // Products of i8 are whole for every fill; what is added to them in float32 need not be.
    const auto whole = [](const std::optional<double>& x) { return !x || *x == std::floor(*x); };
    // And whole numbers are exact up to 1 / u, or where the only rounding is that of the products' sum.
    const long double with_gate =
        gate ? size * (std::fabs(s_.alpha) * gate->magnitude + std::fabs(addends.gate_bias.value_or(0))) : size;
    const long double most = std::fabs(s_.scale) * (with_gate + std::fabs(addends.residual.value_or(0)));
    const bool one_rounding =
        dtype_ == i8 && s_.alpha == 1 && s_.scale == 1 && !gate && !addends.c && !addends.bias && !addends.residual;
    const bool exact = exact_ && whole(addends.c) && whole(addends.bias) && whole(addends.residual) &&
                       whole(addends.gate_bias) && (out_ == i32 || one_rounding || most <= 1 / u);
    if (exact && out_ == i32) {  // each step wraps: the activation sees what is left of the sum
      const auto wrapped = [](long double x) {
        return static_cast<long double>(static_cast<std::int32_t>(static_cast<std::int64_t>(x)));
      };
      const long double acted = activation_oracle(name(s_.activation), wrapped(sum));
      want = static_cast<double>(wrapped(s_.scale * wrapped(acted + addends.residual.value_or(0))));
    } else if (exact) {
      want = as_stored(out_, want);
    } else if (std::isfinite(want)) {
      const double near = as_stored(out_, want);
      tolerance = static_cast<double>(error) +
                  std::max(check::rounding_error(out_, want),
                           check::rounding_error(out_, std::fabs(want) + static_cast<double>(error)));
      if (!std::isfinite(near)) want = near, tolerance = 0;  // beyond the type's range
      if (out_ == i8) tolerance = static_cast<double>(error) + 0.5, want = std::clamp(want, -128.0, 127.0);
    } else {
      want = as_stored(out_, want);
    }
    if (left) tolerance = HUGE_VAL;
    e.value.push_back(want);
    e.tolerance.push_back(tolerance);
  }

 private:
  GemmScalars s_;
  DType dtype_, out_;
  std::int64_t k_;
  bool exact_;
  double u_, lost_, least_;
};

inline std::optional<double> at_if(const check::HostTensor* tensor, std::int64_t element) {
  return tensor ? std::optional(tensor->at(element)) : std::nullopt;
}

// The elements of D of a case, one at a time.
class CaseOracle {
 public:
  CaseOracle(const check::Case& c, const std::vector<check::HostTensor>& in)
      : request_(*request_of(c.operator_options())),
        element_(c, request_),
        m_(c.dim("m")),
        n_(c.dim("n")),
        k_(c.dim("k")),
        a_(&in[0]),
        b_(&in[1]) {
    std::size_t next = 2;
    if (request_.has_c()) c_ = &in[next++];
    if (request_.bias != GemmBias::none) bias_ = &in[next++];
    if (request_.residual) residual_ = &in[next++];
    if (request_.gate) gate_ = &in[next++];
    if (request_.gate_bias) gate_bias_ = &in[next++];
  }

  void add_to(check::Expected& e, std::int64_t offset) const {  // offset: the element's, in D [batch, m, n]
    const std::int64_t j = offset % n_, i = offset / n_ % m_, matrix = offset / n_ / m_;
    const auto product = [&](const check::HostTensor& by) {
      const Line x{*a_, matrix * m_ * k_ + (request_.transposed_a() ? i : i * k_), request_.transposed_a() ? m_ : 1};
      const Line y{by, matrix * k_ * n_ + (request_.transposed_b() ? j * k_ : j), request_.transposed_b() ? 1 : n_};
      return DotOracle(x, y, element_.k());
    };
    const std::optional<DotOracle> by = gate_ ? std::optional(product(*gate_)) : std::nullopt;
    element_.add_to(e, product(*b_), by ? &*by : nullptr,
                    {.c = at_if(c_, offset),
                     .bias = at_if(bias_, request_.bias == GemmBias::along_n ? j : i),
                     .residual = at_if(residual_, offset),
                     .gate_bias = at_if(gate_bias_, j)});
  }

 private:
  Request request_;
  ElementOracle element_;
  std::int64_t m_, n_, k_;
  const check::HostTensor *a_, *b_, *c_ = nullptr, *bias_ = nullptr, *residual_ = nullptr, *gate_ = nullptr,
                                    *gate_bias_ = nullptr;
};

inline check::Expected case_elements(const check::Case& c, const std::vector<check::HostTensor>& in,
                                     const std::vector<std::int64_t>& offsets) {
  const CaseOracle oracle(c, in);
  check::Expected e;
  for (std::int64_t offset : offsets) oracle.add_to(e, offset);
  return e;
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const CaseOracle oracle(c, in);
  const std::int64_t count = c.dim("batch") * c.dim("m") * c.dim("n");
  check::Expected e;
  for (std::int64_t offset = 0; offset < count; ++offset) oracle.add_to(e, offset);
  return {e};
}

inline check::CaseBook book() {
  check::CaseBook book{.op = "gemm",
                       .keys = {"m", "n", "k"},
                       .optional_keys = {"batch"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .elements = case_elements,
                       .adjust = nullptr,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true,
                       .draw = draw_gemm};
  const auto test = [&](std::string rest) { book.tests.push_back("gemm:" + rest); };
  const char* layouts[] = {"nn", "nt", "tn", "tt"};
  const auto with_layout = [](std::string text, std::string_view layout) {
    return layout == "nn" ? text : text + ":layout=" + std::string(layout);
  };
  // Empty, one, and around the tiles' edges: 32, 64, 128, 256; k around 8, 16, 32 and the stages of pipelines.
  for (const char* size : {"m=0,n=5,k=3", "m=5,n=0,k=3", "m=5,n=7,k=0", "m=1,n=1,k=1", "m=1,n=33,k=7", "m=31,n=1,k=9",
                           "m=33,n=31,k=15", "m=64,n=64,k=16", "m=65,n=63,k=17", "m=128,n=128,k=64", "m=129,n=132,k=68",
                           "m=20,n=257,k=33", "m=260,n=36,k=40"})
    for (const char* layout : layouts) test(with_layout(std::string("f32:") + size + ":fill=ints", layout));
  for (const char* size : {"m=0,n=16,k=64", "m=64,n=0,k=64", "m=64,n=16,k=0"})
    for (const char* type : {"f16", "i8"})
      for (const char* layout : {"nn", "nt"}) test(with_layout(std::string(type) + ":" + size, layout));
  for (const char* layout : layouts) {
    for (const char* type : {"f64", "f16", "bf16", "i8"})
      for (const char* size : {"m=33,n=70,k=37", "m=64,n=136,k=48", "m=144,n=16,k=32"})
        test(with_layout(std::string(type) + ":" + size + ":fill=ints", layout));
    test(with_layout("f32:m=70,n=66,k=100", layout));
    test(with_layout("f64:m=34,n=66,k=100", layout));
    test(with_layout("bf16:m=40,n=72,k=104", layout));
    test(with_layout("i8:m=40,n=72,k=100", layout));  // int8's whole range
    test(with_layout("f8e4m3:m=20,n=24,k=33:fill=ints", layout));
    test(with_layout("f32:m=20,n=36,k=24,batch=3:fill=ints:epilogue=bias+relu+residual:beta=2", layout));
    for (const char* place : {"offset", "padded", "strided", "reversed"}) {
      test(with_layout(std::string("f32:m=36,n=68,k=20:fill=ints:place=") + place, layout));
      test(with_layout(std::string("bf16:m=36,n=72,k=24:fill=ints:place=") + place, layout));
    }
    test(with_layout("i8:m=36,n=72,k=48:fill=ints:place=padded", layout));
  }
  test("f8e5m2:m=20,n=24,k=33:fill=ints");
  // A gate: tiles of 64 columns of either product; edges of 16 and 64, and unaligned rows.
  for (const char* layout : {"nn", "nt"}) {
    for (const char* size : {"m=1,n=1,k=1", "m=130,n=68,k=36", "m=33,n=63,k=17", "m=20,n=132,k=64,batch=2"})
      test(with_layout(std::string("f32:") + size + ":fill=ints:epilogue=gate", layout));
    for (const char* type : {"f64", "f16", "bf16"})
      test(with_layout(std::string(type) + ":m=72,n=136,k=40:fill=ints:epilogue=bias+relu+gate", layout));
    test(with_layout("f32:m=40,n=72,k=52:epilogue=silu+gate:alpha=0.5", layout));
    test(with_layout("bf16:m=40,n=72,k=56:epilogue=silu+gate", layout));
    test(with_layout("f32:m=36,n=68,k=20:fill=ints:epilogue=gate:place=padded", layout));
  }
  // The same on tensor cores: edges of 64 and 128, more tiles than resident blocks, one step and more steps than
  // buffers; D in unaligned rows, and operands that are copied first.
  for (const char* layout : layouts) {
    test(with_layout("bf16:m=130,n=136,k=72:fill=ints:epilogue=gate", layout));
    test(with_layout("f16:m=200,n=264,k=328:fill=ints:epilogue=bias+relu+gate:scale=2", layout));
    test(with_layout("bf16:m=67,n=131,k=77:epilogue=bias+silu+gate", layout));
    test(with_layout("f16:m=130,n=264,k=72:fill=ints:epilogue=bias+relu+gate+gate_bias:alpha=2", layout));
    test(with_layout("f32:m=67,n=133,k=45:epilogue=bias+gelu+gate+gate_bias", layout));
    for (const char* place : {"offset", "padded", "strided"})
      test(with_layout(std::string("f16:m=70,n=72,k=40:fill=ints:epilogue=gate:place=") + place, layout));
  }
  test("bf16:m=40,n=72,k=24,batch=150:fill=ints:epilogue=gate:layout=nt");
  // Few rows of a layer: tiles of 16 and 64 rows of A, of fewer and more columns than multiprocessors have tiles for.
  for (const char* size : {"m=1,n=200,k=328", "m=16,n=136,k=64", "m=19,n=2056,k=72", "m=64,n=9000,k=40",
                           "m=65,n=131,k=200", "m=3,n=8,k=9", "m=5,n=72,k=136,batch=3"}) {
    test(std::string("bf16:") + size + ":fill=ints:epilogue=gate:layout=nt");
    test(std::string("f16:") + size + ":epilogue=bias+silu+gate+residual:layout=nt");
  }
  test("f16:m=72,n=136,k=40:epilogue=bias+gelu+gate+residual:beta=2:alpha=0.5:layout=nt");
  test("bf16:m=65,n=129,k=32:epilogue=silu+gate:out=f32");
  test("f32:m=40,n=72,k=52:epilogue=bias+gelu+gate+residual:beta=2:scale=0.5");
  test("f16:m=33,n=65,k=19:fill=ints:epilogue=gate:layout=tt");
  test("f32:m=33,n=64,k=0:epilogue=bias+gate+residual");
  test("f32:m=33,n=65,k=0:epilogue=bias+gate+gate_bias+residual");
  test("f16:m=20,n=136,k=72:epilogue=gelu_tanh+gate+gate_bias:layout=nt:place=offset");
  test("bf16:m=72,n=131,k=96:fill=ints:epilogue=bias+gate+gate_bias+residual:layout=nt:place=strided");
  test("bf16:m=3,n=264,k=200,batch=2:epilogue=gate+gate_bias:layout=nt:out=f32");
  test("f64:m=33,n=65,k=40:epilogue=bias+silu+gate+gate_bias");
  test("f32:m=36,n=68,k=20:fill=ints:epilogue=gate:place=strided");
  test("f32:m=1,n=1,k=1:epilogue=gate:alpha=-1e30:scale=-0");  // an infinity times 0
  test("f32:m=40,n=72,k=32:fill=ints:epilogue=gate:warp=64");
  // Tensor cores: 16-byte aligned rows; edges of 64, 128, 192 and 256, one step and more steps than buffers, more tiles
  // than resident blocks.
  for (const char* layout : layouts) {
    test(with_layout("bf16:m=136,n=264,k=72:fill=ints", layout));
    test(with_layout("f16:m=264,n=200,k=640:fill=ints", layout));
    test(with_layout("bf16:m=72,n=136,k=104:epilogue=bias+gelu", layout));
    test(with_layout("f16:m=24,n=136,k=8,batch=3:fill=ints:epilogue=bias+relu+residual:beta=2", layout));
    test(with_layout("bf16:m=136,n=72,k=24:fill=ints:place=padded:epilogue=bias+relu:scale=2", layout));
    test(with_layout("f16:m=136,n=72,k=24:fill=ints:place=strided", layout));
  }
  // mma.sync: edges of 16, 32, 64 and 128, steps of 16 and 32 around the stages, in each layout; rows aligned to 2, 4,
  // 8 and 16 bytes, by size or by place.
  for (const char* layout : layouts) {
    for (const char* size : {"m=1,n=1,k=1", "m=17,n=31,k=5", "m=129,n=65,k=63", "m=127,n=258,k=82", "m=130,n=129,k=33"})
      for (const char* type : {"f64", "f16"}) test(with_layout(std::string(type) + ":" + size + ":fill=ints", layout));
    for (const char* size : {"m=132,n=68,k=36", "m=66,n=134,k=130", "m=131,n=257,k=31"})
      test(with_layout(std::string("bf16:") + size + ":fill=ints", layout));
    test(with_layout("f64:m=136,n=258,k=112:fill=ints", layout));
    test(with_layout("f64:m=35,n=129,k=50:epilogue=bias+gelu", layout));
    test(with_layout("f64:m=19,n=67,k=21,batch=3:fill=ints:epilogue=bias+relu+residual:beta=2", layout));
    test(with_layout("bf16:m=19,n=67,k=37,batch=3:fill=ints:epilogue=bias_m+relu+residual:beta=2", layout));
    test(with_layout("bf16:m=67,n=131,k=77:epilogue=bias+silu", layout));
    for (const char* place : {"offset", "padded", "strided", "reversed"}) {
      test(with_layout(std::string("f64:m=36,n=70,k=34:fill=ints:place=") + place, layout));
      test(with_layout(std::string("f16:m=70,n=131,k=67:fill=ints:place=") + place, layout));
    }
  }
  // Hopper's tensor cores for other types; operands along M or N, or in unaligned rows, are copied first.
  for (const char* layout : layouts) {
    for (const char* type : {"f8e4m3", "i8"})
      for (const char* size : {"m=136,n=272,k=208", "m=67,n=131,k=77"})
        test(with_layout(std::string(type) + ":" + size + ":fill=ints", layout));
    test(with_layout("f8e5m2:m=130,n=200,k=160:out=bf16:fill=ints:math=fast", layout));
    test(with_layout("f8e4m3:m=40,n=48,k=304:out=bf16:epilogue=bias+relu", layout));
    test(with_layout("i8:m=136,n=72,k=144,batch=3:out=f32:alpha=0.5:epilogue=bias+residual:beta=2", layout));
    test(with_layout("f32:m=136,n=264,k=100:fill=ints:math=tf32", layout));
    // A sum too short to hide truncation instead of rounding.
    test(with_layout("f32:m=66,n=130,k=1:math=tf32", layout));
    test(with_layout("f32:m=67,n=131,k=37,batch=2:math=tf32:epilogue=bias_m+gelu", layout));
    test(with_layout("f32:m=136,n=200,k=164:math=3xtf32", layout));
    test(with_layout("f32:m=67,n=131,k=301:math=3xtf32:place=offset", layout));
    test(with_layout("f32:m=40,n=72,k=68,batch=3:math=3xtf32:fill=ints:epilogue=bias+residual:beta=2", layout));
    test(with_layout("f32:m=36,n=68,k=20:fill=ints:place=strided:math=tf32", layout));
    test(with_layout("i8:m=36,n=72,k=48:fill=ints:place=reversed", layout));
  }
  test("f8e4m3:m=64,n=72,k=96:math=fast");
  // Slices of k as a batch: two and more of them, rows and columns of no whole vectors, one row or column, and all that
  // follows the sums.
  for (const char* layout : layouts) {
    for (const char* size : {"m=5,n=9,k=2048", "m=24,n=17,k=5120", "m=1,n=7,k=2048", "m=6,n=1,k=2048"})
      test(with_layout(std::string("bf16:") + size, layout));
    test(with_layout("f16:m=7,n=13,k=3072:fill=ints:place=offset:epilogue=bias+relu+residual:beta=2:alpha=0.5:scale=3",
                     layout));
  }
  for (const char* more : {":place=strided", ":place=reversed", ":out=f32", ":epilogue=bias_m+gelu", ":fill=nan"})
    test(std::string("bf16:m=6,n=10,k=2048:layout=tn") + more);
  // Few rows of unaligned weights: k of no whole step, of one for some warps and of several for all; columns past a
  // block's; several matrices.
  for (const char* type : {"f16:", "bf16:"})
    for (const char* size : {"m=1,n=33,k=1001", "m=8,n=16,k=9", "m=5,n=70,k=1103", "m=3,n=18,k=265,batch=3"})
      for (const char* more :
           {":fill=ints", ":epilogue=bias+gelu+residual:beta=2", ":place=offset:epilogue=bias_m", ":fill=nan"})
        test(with_layout(std::string(type) + size + more, "nt"));
  // Double-float sums: any layout and place, sizes about a tile's edges, more of k than float32 adds up exactly.
  for (const char* layout : layouts) {
    for (const char* size : {"m=64,n=64,k=16", "m=68,n=132,k=52", "m=1,n=4,k=1000", "m=33,n=70,k=21"})
      test(with_layout(std::string("f32:") + size + ":accumulate=two_float", layout));
    test(with_layout("f32:m=36,n=68,k=20:fill=ints:accumulate=two_float", layout));
  }
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    test(std::string("f32:m=36,n=72,k=36:accumulate=two_float:place=") + place);
  for (const char* fill : {"nan", "inf", "denormal", "greatest", "overflow"})
    test(std::string("f32:m=9,n=35,k=1:accumulate=two_float:fill=") + fill);
  test("f32:m=40,n=72,k=68,batch=3:accumulate=two_float:epilogue=bias+gelu+residual:beta=2:alpha=0.5");
  test("f32:m=34,n=72,k=21:accumulate=two_float:epilogue=bias:out=bf16");
  test("f32:m=9,n=35,k=0:accumulate=two_float:epilogue=bias");
  test("f32:m=0,n=35,k=7:accumulate=two_float");
  // Few rows or columns, and split-K: from one step to more steps than a cluster's stages; edges of 16, 32, 64, 128.
  for (const char* layout : layouts)
    for (const char* size : {"m=1,n=200,k=72", "m=13,n=136,k=520", "m=17,n=72,k=1096", "m=48,n=264,k=328",
                             "m=200,n=9,k=264", "m=130,n=56,k=456", "m=9,n=72,k=2120", "m=128,n=128,k=192"})
      test(with_layout(std::string("bf16:") + size + ":fill=ints", layout));
  for (const char* layout : layouts)
    for (const char* size : {"m=13,n=136,k=520", "m=200,n=9,k=264", "m=130,n=56,k=1096", "m=128,n=128,k=192"}) {
      for (const char* type : {"f8e4m3:", "i8:"}) test(with_layout(std::string(type) + size + ":fill=ints", layout));
      test(with_layout(std::string("f32:") + size + ":fill=ints:math=tf32", layout));
    }
  for (const char* layout : layouts) {
    test(
        with_layout("f8e5m2:m=15,n=133,k=1290:out=f16", layout));  // a sum long enough for the tensor cores' own to err
    test(with_layout("i8:m=15,n=133,k=1290,batch=2:out=f32:alpha=0.5:epilogue=bias+relu", layout));
    test(with_layout("f16:m=24,n=72,k=392,batch=3:epilogue=bias_m+gelu+residual:beta=2", layout));
    test(with_layout("f16:m=15,n=133,k=259:fill=ints:out=f32", layout));
  }
  test("f64:m=130,n=66,k=40,batch=2:fill=ints");
  test("f64:m=20,n=24,k=20:alpha=0:beta=2:epilogue=bias");
  test("f16:m=20,n=24,k=20:alpha=0:beta=2:epilogue=bias");
  test("f64:m=9,n=35,k=0:epilogue=bias");
  test("bf16:m=136,n=264,k=16,batch=40:fill=ints:epilogue=bias");
  test("bf16:m=1,n=8,k=8:fill=ints");
  test("bf16:m=200,n=333,k=64:fill=ints:layout=nt");  // D's rows are unaligned
  for (const char* epilogue : {"bias", "bias_m+relu", "gelu", "gelu_tanh", "silu", "sigmoid", "relu6", "hardswish",
                               "hardsigmoid", "bias+relu"})
    test(std::string("f16:m=72,n=136,k=40:alpha=0.5:epilogue=") + epilogue);
  // Epilogues, each part alone and together; types of D.
  for (const char* epilogue : {"bias", "bias_m", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "residual",
                               "bias+gelu+residual", "bias_m+silu"}) {
    test(std::string("f32:m=34,n=70,k=21:epilogue=") + epilogue);
    test(std::string("bf16:m=34,n=70,k=21:epilogue=") + epilogue);
  }
  test("f64:m=34,n=70,k=21:epilogue=bias+gelu_tanh+residual:alpha=0.5:beta=-1.5:scale=3");
  test("f32:m=34,n=70,k=21:epilogue=bias+silu+residual:alpha=0.5:beta=-1.5:scale=3");
  for (const char* size : {"m=1,n=1,k=1", "m=40,n=72,k=32"})
    test("i8:" + std::string(size) + ":epilogue=bias+relu+residual:fill=greatest");
  test("i8:m=34,n=70,k=21:fill=ints:epilogue=bias+relu+residual:alpha=-2:beta=3:scale=2");
  test("i8:m=34,n=70,k=21:out=f32:alpha=0.01:epilogue=bias+gelu");
  test("i8:m=34,n=70,k=64:out=i8:alpha=0.001");
  test("i8:m=1,n=1,k=2,batch=2:out=f32:epilogue=bias+residual");
  test("i8:m=1,n=16,k=16,batch=2:out=f32:fill=special:beta=4294967297");
  for (const char* out : {"f16", "bf16", "f8e4m3", "f8e5m2"}) {
    test(std::string("f32:m=34,n=72,k=21:epilogue=bias:beta=1:out=") + out);
    test(std::string("f16:m=34,n=72,k=21:fill=ints:out=") + out);
  }
  test("bf16:m=34,n=72,k=21:out=f32:fill=ints");
  // What is not read: NaN operands where alpha or k is 0; C where beta is 0.
  test("f32:m=34,n=70,k=21:fill=nan:alpha=0:epilogue=relu");
  for (const char* layout : layouts) test(with_layout("f32:m=34,n=72,k=20:alpha=0:beta=2:epilogue=bias", layout));
  test("f32:m=34,n=70,k=0:beta=2:epilogue=bias+sigmoid");
  for (const char* fill : {"nan", "inf", "denormal", "ones", "uniform"})
    test(std::string("f32:m=9,n=35,k=2:epilogue=relu:fill=") + fill);
  for (const char* type : {"f32", "f64", "bf16", "i8"}) test(std::string(type) + ":m=40,n=72,k=32:fill=ints:warp=64");

  const auto bench = [&](std::string rest) { book.benches.push_back("gemm:" + rest); };
  for (const char* size : {"m=4096,n=4096,k=4096", "m=10240,n=4096,k=4096"})
    for (const char* layout : layouts) bench(with_layout(std::string("f32:") + size, layout));
  for (const char* size : {"m=1024,n=1024,k=1024", "m=4096,n=4096,k=4096"})
    bench(std::string("f32:") + size + ":accumulate=two_float");
  for (const char* size : {"m=1024,n=1024,k=1024", "m=2048,n=2048,k=2048", "m=4095,n=4095,k=4096",
                           "m=1000,n=1000,k=1000", "m=5120,n=13,k=2880"})
    bench(std::string("f32:") + size);
  for (const char* type : {"bf16:", "f16:"}) {
    for (const char* size :
         {"m=2048,n=2048,k=2048", "m=4096,n=4096,k=4096", "m=8192,n=8192,k=8192", "m=10240,n=4096,k=4096"})
      for (const char* layout : layouts) bench(with_layout(std::string(type) + size, layout));
    for (const char* size :
         {"m=4096,n=4096,k=14336", "m=4096,n=28672,k=4096", "m=16,n=4096,k=4096", "m=64,n=4096,k=4096"})
      bench(std::string(type) + size + ":layout=nt");
    for (const char* epilogue : {"bias+relu", "bias+gelu"})
      bench(std::string(type) + "m=4096,n=4096,k=4096:layout=nt:epilogue=" + epilogue);
  }
  for (const char* type : {"bf16:", "f32:"})
    bench(std::string(type) + "m=4096,n=14336,k=4096:layout=nt:epilogue=silu+gate");
  bench("bf16:m=4096,n=14336,k=4096:layout=nt:epilogue=gate");  // the activation's cost
  for (const char* m : {"16", "64", "128", "256", "512"})
    for (const char* nk : {"4096", "8192"}) bench(std::string("bf16:m=") + m + ",n=" + nk + ",k=" + nk + ":layout=nt");
  for (const char* size : {"m=1000,n=1000,k=1000", "m=5120,n=13,k=2880", "m=8192,n=8192,k=1000"})
    bench(std::string("bf16:") + size);
  for (const char* size : {"m=8192,n=8192,k=8192", "m=10240,n=4096,k=4096"}) {
    bench(std::string("f32:") + size + ":layout=nt:math=tf32");
    bench(std::string("f32:") + size + ":math=tf32");
    bench(std::string("i8:") + size + ":layout=nt");
    for (const char* math : {"", ":math=fast"}) bench(std::string("f8e4m3:") + size + ":layout=nt:out=bf16" + math);
  }
  for (const char* size : {"m=16,n=4096,k=4096", "m=64,n=4096,k=4096", "m=256,n=4096,k=4096", "m=1024,n=1024,k=8192"}) {
    bench(std::string("f32:") + size + ":layout=nt:math=tf32");
    bench(std::string("i8:") + size + ":layout=nt");
    bench(std::string("f8e4m3:") + size + ":layout=nt:out=bf16");
  }
  for (const char* size : {"m=4096,n=4096,k=4096", "m=10240,n=4096,k=4096"})
    for (const char* layout : layouts) bench(with_layout(std::string("f32:") + size + ":math=3xtf32", layout));
  for (const char* type : {"bf16:", "f16:"})
    for (const char* layout : layouts) bench(with_layout(std::string(type) + "m=4095,n=4095,k=4096", layout));
  for (const char* size : {"m=4095,n=4095,k=4095", "m=1000,n=1000,k=1000:place=offset", "m=1023,n=1023,k=1023"})
    bench(std::string("bf16:") + size);
  for (const char* size : {"m=4096,n=4096,k=4096", "m=8192,n=8192,k=8192", "m=10240,n=4096,k=4096"})
    for (const char* layout : layouts) bench(with_layout(std::string("f64:") + size, layout));
  for (const char* size : {"m=1024,n=1024,k=1024", "m=2048,n=2048,k=2048", "m=4095,n=4095,k=4095"})
    bench(std::string("f64:") + size);
  return book;
}

// ---- grouped_gemm ---------------------------------------------------------------------------------------------------

inline Result<std::vector<TensorType>> grouped_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options(), true);
  if (!request) return request.error();
  const Request& r = *request;
  const std::int64_t m = c.dim("m"), n = c.dim("n"), k = c.dim("k"), groups = c.dim("groups");
  const DType out = r.out_of(c.dtype);
  std::vector<TensorType> types;
  types.push_back({c.dtype, r.transposed_a() ? std::vector{k, m} : std::vector{m, k}});
  types.push_back({c.dtype, r.transposed_b() ? std::vector{groups, n, k} : std::vector{groups, k, n}});
  types.push_back({i32, {groups + 1}});
  if (r.has_c()) types.push_back({out, {m, n}});
  if (r.bias != GemmBias::none) types.push_back({out, {groups, n}});
  if (r.residual) types.push_back({out, {m, n}});
  return types;
}

// Offsets that cut all rows into uneven groups; every fourth group is empty or has one row.
inline void cut_into_groups(const check::Case& c, std::vector<check::HostTensor>& in) {
  std::vector<double>& offsets = in[2].values;
  const std::int64_t m = c.dim("m"), groups = c.dim("groups");
  std::mt19937_64 random(static_cast<std::uint64_t>(*c.options.integer(c.op, "seed", 1)));
  for (double& offset : offsets) offset = static_cast<double>(random() % static_cast<std::uint64_t>(m + 1));
  offsets.front() = 0;
  offsets.back() = static_cast<double>(m);
  std::sort(offsets.begin(), offsets.end());
  for (std::int64_t g = 1; g < groups; ++g)
    if (g % 4 == 1) offsets[g] = std::min(offsets[g - 1] + static_cast<double>(g / 4 % 2), offsets[g + 1]);
}

inline std::vector<check::Expected> grouped_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request r = *request_of(c.operator_options(), true);
  const ElementOracle element(c, r);
  const std::int64_t m = c.dim("m"), n = c.dim("n"), k = c.dim("k"), groups = c.dim("groups");
  std::size_t next = 3;
  const check::HostTensor* cs = r.has_c() ? &in[next++] : nullptr;
  const check::HostTensor* bias = r.bias != GemmBias::none ? &in[next++] : nullptr;
  const check::HostTensor* residual = r.residual ? &in[next++] : nullptr;
  check::Expected e;
  if (groups == 0) {  // all rows are in no group, and may hold anything
    e.value.assign(static_cast<std::size_t>(m * n), 0);
    e.tolerance.assign(e.value.size(), std::numeric_limits<double>::infinity());
  }
  for (std::int64_t g = 0; g < groups; ++g)
    for (auto i = static_cast<std::int64_t>(in[2].values[g]); i < static_cast<std::int64_t>(in[2].values[g + 1]); ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const Line x{in[0], r.transposed_a() ? i : i * k, r.transposed_a() ? m : 1};
        const Line y{in[1], g * k * n + (r.transposed_b() ? j * k : j), r.transposed_b() ? 1 : n};
        element.add_to(
            e, DotOracle(x, y, element.k()), nullptr,
            {.c = at_if(cs, i * n + j), .bias = at_if(bias, g * n + j), .residual = at_if(residual, i * n + j)});
      }
  // Rows in no group keep their former contents, which are unknown.
  e.value.resize(static_cast<std::size_t>(m * n));
  e.tolerance.resize(e.value.size(), std::numeric_limits<double>::infinity());
  return {e};
}

inline check::CaseBook grouped_book() {
  check::CaseBook book{.op = "grouped_gemm",
                       .keys = {"m", "n", "k", "groups"},
                       .optional_keys = {},
                       .inputs = grouped_inputs,
                       .oracle = grouped_oracle,
                       .adjust = cut_into_groups,
                       .tests = {},
                       .benches = {},
                       .adjusts_small = true,
                       .may_leave_range = true,
                       .draw = draw_grouped};
  const auto test = [&](const std::string& rest) { book.tests.push_back("grouped_gemm:" + rest); };
  const char* layouts[] = {"nn", "nt", "tn", "tt"};
  // Nothing, one of everything, one group, more groups than rows, groups of many tiles and of part of one.
  for (const char* layout : {"nn", "nt"}) {
    const std::string with = std::string(":fill=ints:layout=") + layout;
    for (const char* size :
         {"m=0,n=5,k=3,groups=3", "m=1,n=1,k=1,groups=1", "m=129,n=68,k=36,groups=1", "m=3,n=33,k=8,groups=9",
          "m=300,n=72,k=20,groups=5", "m=200,n=130,k=33,groups=17", "m=5,n=130,k=33,groups=0"})
      test("f32:" + std::string(size) + with);
    for (const char* type : {"f64", "f16", "bf16"}) test(std::string(type) + ":m=150,n=72,k=40,groups=6" + with);
    test("f32:m=70,n=36,k=24,groups=4:epilogue=bias+gelu+residual:beta=2:layout=" + std::string(layout));
    test("bf16:m=70,n=40,k=24,groups=4:epilogue=bias+silu:out=f32:layout=" + std::string(layout));
    test("f32:m=70,n=36,k=24,groups=4:place=offset" + with);
    test("bf16:m=70,n=40,k=24,groups=4:place=padded" + with);
  }
  // The same on tensor cores: edges of 16, 64 and 128 rows, more groups than lanes, more tiles than resident blocks.
  for (const char* layout : layouts) {
    test("bf16:m=700,n=264,k=72,groups=6:fill=ints:layout=" + std::string(layout));
    test("f16:m=300,n=72,k=328,groups=70:fill=ints:epilogue=bias+relu:layout=" + std::string(layout));
    test("bf16:m=150,n=67,k=37,groups=5:epilogue=bias+silu+residual:layout=" + std::string(layout));
    test("f16:m=150,n=72,k=40,groups=5:fill=ints:place=padded:layout=" + std::string(layout));
  }
  test("bf16:m=4000,n=72,k=16,groups=180:fill=ints:epilogue=bias:layout=nt");
  test("f32:m=40,n=36,k=24,groups=4:fill=ints:layout=tt");
  test("f32:m=40,n=36,k=0,groups=4:epilogue=bias");
  test("f32:m=100,n=40,k=32,groups=5:fill=ints:warp=64");
  test("f16:m=100,n=40,k=32,groups=5:fill=ints:seed=7:warp=64");
  for (const char* type : {"bf16:", "f32:"}) {
    book.benches.push_back("grouped_gemm:" + std::string(type) + "m=16384,n=2048,k=2048,groups=64:layout=nt");
    book.benches.push_back("grouped_gemm:" + std::string(type) + "m=512,n=4096,k=2048,groups=64:layout=nt");
  }
  book.benches.push_back("grouped_gemm:bf16:m=16384,n=2048,k=2048,groups=8:layout=nt");
  book.benches.push_back("grouped_gemm:bf16:m=16384,n=2048,k=2048,groups=1:layout=nt");  // one problem of that total
  return book;
}

// ---- linear ---------------------------------------------------------------------------------------------------------

inline bool linear_has(const check::Case& c, std::string_view input) {
  const std::string list = "," + std::string(c.options.text("inputs")) + ",";
  return list.find("," + std::string(input) + ",") != std::string::npos;
}

inline Result<std::vector<TensorType>> linear_inputs(const check::Case& c) {
  auto out = out_of("linear", c.options);
  if (!out) return out.error();
  const std::int64_t m = c.dim("m"), n = c.dim("n"), k = c.dim("k");
  const DType y = *out ? **out : gemm_default_out(c.dtype);
  const auto with_rows = [&](DType dtype, std::int64_t cols) {
    return c.has("batch") ? TensorType{dtype, {c.dim("batch"), m, cols}} : TensorType{dtype, {m, cols}};
  };
  std::vector<TensorType> types{with_rows(c.dtype, k), {c.dtype, {n, k}}};
  if (linear_has(c, "bias")) types.push_back({y, {n}});
  if (linear_has(c, "residual")) types.push_back(with_rows(y, n));
  return types;
}

// As gemm's, with all rows as one matrix: y = x w^T in layout nt; inputs come in gemm's order.
inline std::vector<check::Expected> linear_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  check::Case product = c;
  product.op = "gemm";
  product.dims = {{"m", c.dim("batch") * c.dim("m")}, {"n", c.dim("n")}, {"k", c.dim("k")}};
  std::string epilogue;
  const auto with = [&](std::string_view part) { epilogue += (epilogue.empty() ? "" : "+") + std::string(part); };
  if (linear_has(c, "bias")) with("bias");
  if (c.options.has("activation")) with(c.options.text("activation"));
  if (linear_has(c, "residual")) with("residual");
  product.options.erase("inputs");
  product.options.erase("activation");
  product.options.set("epilogue", epilogue);
  product.options.set("layout", "nt");
  return case_oracle(product, in);
}

inline check::CaseBook linear_book() {
  check::CaseBook book{.op = "linear",
                       .keys = {"m", "n", "k"},
                       .optional_keys = {"batch"},
                       .inputs = linear_inputs,
                       .oracle = linear_oracle,
                       .adjust = nullptr,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true,
                       .draw = draw_linear};
  // The kernels are gemm's, with gemm's cases; these test the views.
  book.tests = {
      "linear:f32:m=0,n=5,k=3",
      "linear:f32:m=5,n=7,k=0:inputs=x,w,bias,residual",
      "linear:f32:m=1,n=1,k=1",
      "linear:f32:m=17,n=72,k=240:inputs=x,w,bias:activation=gelu:accumulate=two_float",
      "linear:f32:m=33,n=36,k=20,batch=3:fill=ints:inputs=x,w,bias,residual",
      "linear:f32:m=12,n=36,k=20,batch=3:fill=ints:inputs=x,w,bias:place=padded",
      "linear:f32:m=12,n=36,k=20,batch=3:fill=ints:inputs=x,w,residual:place=strided",
      "linear:f32:m=12,n=36,k=20,batch=3:fill=ints:place=reversed",
      "linear:bf16:m=17,n=72,k=24,batch=2:inputs=x,w,bias,residual:activation=gelu",
      "linear:f16:m=17,n=72,k=24:inputs=x,w,bias:activation=silu:out=f32",
      "linear:f64:m=9,n=34,k=24:inputs=x,w,residual:activation=relu:fill=ints",
      "linear:i8:m=9,n=34,k=24:fill=ints",
  };
  for (const char* size : {"m=4096,n=4096,k=4096", "m=16,n=4096,k=4096"})
    book.benches.push_back(std::string("linear:bf16:") + size + ":inputs=x,w,bias:activation=gelu");
  return book;
}

}  // namespace ridge::gemm_detail
