// gemv's cases, for tests, benchmarks and the command line.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/gemv/oracle.hpp>
#include <ridge/gemv/request.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::gemv_detail {

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.operator_options());
  if (!request) return request.error();
  const std::int64_t m = c.dim("m"), k = c.dim("k");
  std::vector<TensorType> types{{c.dtype, request->transposed ? std::vector{k, m} : std::vector{m, k}}, {c.dtype, {k}}};
  if (request->has_c()) types.push_back({c.dtype, {m}});
  if (request->bias) types.push_back({c.dtype, {m}});
  return types;
}

// Overflowing numbers have one sign: with both, the order of additions would decide between inf and NaN.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (c.options.text("fill") != "overflow") return;
  for (auto& tensor : in)
    for (double& x : tensor.values) x = std::fabs(x);
}

// Tolerance. u is the roundoff of the computation type (float32, or float64 for f64). A sum of k products, each rounded
// or fused, in any order, errs by at most (k + 1) u of the products' absolute sum. alpha, beta c and bias add 3
// roundings of the whole. An activation amplifies an error by at most its slope, and itself errs by 8
// operations of one unit around an exponential of its argument (as derived in elementwise/cases.hpp). Then one rounding
// to y's type. Underflows on the way are lost entirely.
//
// Exact where everything is: small whole numbers (fill=ints, ones), whole alpha and beta, terms that add up to at most
// 1 / u, and no activation but relu; then y is the exact result rounded once.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request r = *request_of(c.operator_options());
  const GemvScalars& s = r.scalars;
  const std::int64_t m = c.dim("m"), all_k = c.dim("k"), k = s.alpha == 0 ? 0 : all_k;
  const std::string_view fill = c.options.text("fill", "normal");
  const auto whole = [](double x) { return x == std::floor(x); };
  const Activation act = s.activation;
  const bool smooth = act != Activation::none && act != Activation::relu;
  const bool all_whole = (fill == "ints" || fill == "ones") && whole(s.alpha) && whole(s.beta) && !smooth;
  const double u = check::roundoff(c.dtype == f64 ? f64 : f32), least = c.dtype == f64 ? 0x1p-1074 : 0x1p-149;
  std::size_t next = 2;
  const double* cs = r.has_c() ? in[next++].values.data() : nullptr;
  const double* bias = r.bias ? in[next++].values.data() : nullptr;

  check::Expected e;
  for (std::int64_t i = 0; i < m; ++i) {
    const double* a = in[0].values.data() + (r.transposed ? i : i * all_k);
    const DotOracle dot(a, r.transposed ? m : 1, in[1].values.data(), k);
    // alpha == 0: no product at all, not even of NaN.
    long double sum = k == 0 ? 0 : s.alpha * dot.sum, size = k == 0 ? 0 : std::fabs(s.alpha) * dot.magnitude;
    long double error = (k + 1) * u * size;
    const auto add = [&](long double addend) { sum += addend, size += std::fabs(addend); };
    if (cs) add(static_cast<long double>(s.beta) * cs[i]);
    if (bias) add(bias[i]);
    error += 3 * u * size + (k + 4) * least * (1 + std::fabs(s.alpha));
    const long double value = activation_oracle(name(act), sum);
    if (smooth) {
      const long double size_of_sum = std::fabs(sum);
      const long double amplified = act == Activation::gelu ? size_of_sum * size_of_sum
                                    : act == Activation::gelu_tanh
                                        ? 6.4L * size_of_sum * (1 + 0.045L * size_of_sum * size_of_sum)
                                        : size_of_sum;
      error = check::activation_slope(name(act)) * error +
              (8 + std::min(amplified, 1000.0L)) * 4 * u * std::fabs(value) + 8 * least +
              check::lost_below_normal(name(act), sum, c.dtype == f64 ? 0x1p-1022L : 0x1p-126L);
    }
    double want = static_cast<double>(value), tolerance = 0;
    if ((all_whole && size <= 1 / u) || !std::isfinite(want) || !std::isfinite(check::round_to(c.dtype, want))) {
      want = check::round_to(c.dtype, want);
    } else {
      const double most = std::fabs(want) + static_cast<double>(error);
      tolerance = static_cast<double>(error) + check::rounding_error(c.dtype, most);
    }
    e.value.push_back(want);
    e.tolerance.push_back(tolerance);
  }
  return {e};
}

inline check::CaseBook book() {
  check::CaseBook book{.op = "gemv",
                       .keys = {"m", "k"},
                       .optional_keys = {},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true};
  const auto test = [&](std::string rest) { book.tests.push_back("gemv:" + rest); };
  const auto both = [&](const std::string& rest) {
    test(rest);
    test(rest + ":layout=t");
  };
  // Empty, one, and around the sizes of lanes, warps and blocks: k of 4, 16, 32, 128, 512, 4,096; m of 32, 64, 512,
  // 1,024.
  for (const char* size :
       {"m=0,k=3",    "m=5,k=0",    "m=1,k=1",    "m=1,k=129",  "m=3,k=4",    "m=33,k=15",   "m=33,k=16",
        "m=67,k=17",  "m=513,k=16", "m=31,k=32",  "m=127,k=32", "m=9,k=128",  "m=65,k=132",  "m=17,k=520",
        "m=3,k=4096", "m=5,k=4100", "m=2,k=8195", "m=1030,k=5", "m=260,k=36", "m=1,k=20000", "m=4096,k=2"})
    both(std::string("f32:") + size + ":fill=ints");
  for (const char* type : {"f16", "bf16", "f64"})
    for (const char* size : {"m=70,k=16", "m=40,k=37", "m=136,k=72", "m=24,k=1032", "m=3,k=8200"})
      both(std::string(type) + ":" + size + ":fill=ints");
  for (const char* type : {"f32", "f16", "bf16", "f64"}) {
    both(std::string(type) + ":m=72,k=200");
    both(std::string(type) + ":m=40,k=64:fill=ints:warp=64");
    test(std::string(type) + ":m=3,k=3000:warp=64");
  }
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* type : {"f32", "bf16"})
      both(std::string(type) + ":m=72,k=88:fill=ints:epilogue=bias:beta=2:place=" + place);
  // Each part of the epilogue alone and together; after one kernel and after two.
  for (const char* epilogue :
       {"bias", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "relu6", "hardswish", "hardsigmoid", "bias+gelu"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":m=70,k=24:alpha=0.5:epilogue=" + epilogue);
  for (const char* activation : {"silu", "gelu_tanh", "gelu"})  // the factor of each sum is subnormal
    test(std::string("bf16:m=40,k=1:fill=alternating,9:epilogue=") + activation);
  test("f32:m=1,k=3:fill=ones:alpha=1e30");
  both("f32:m=5,k=9000:epilogue=bias+silu:alpha=0.25:beta=-1.5");
  both("f64:m=34,k=21:epilogue=bias+gelu_tanh:alpha=0.5:beta=-1.5");
  both("f16:m=40,k=104:epilogue=bias+relu:alpha=-2:beta=3:fill=ints");
  // What is not read: NaN in A and x where alpha or k is 0; in c where beta is 0.
  for (const char* type : {"f32", "f16"}) both(std::string(type) + ":m=34,k=72:fill=nan:alpha=0:epilogue=relu");
  both("f32:m=34,k=72:alpha=0:beta=2:epilogue=bias");
  both("f32:m=34,k=0:beta=2:epilogue=bias+sigmoid");
  for (const char* fill : {"nan", "inf", "denormal", "overflow", "ones", "uniform"})
    both(std::string("f32:m=9,k=3:epilogue=relu:fill=") + fill);

  for (const char* type : {"f32:", "bf16:"}) {
    for (const char* size : {"m=4096,k=4096", "m=16384,k=16384", "m=128256,k=4096", "m=1048576,k=16", "m=1048576,k=32",
                             "m=262144,k=128", "m=16,k=1048576", "m=4095,k=4095"})
      book.benches.push_back(std::string("gemv:") + type + size);
    for (const char* size : {"m=4096,k=4096", "m=16384,k=16384", "m=4096,k=128256", "m=16,k=1048576", "m=4095,k=4095"})
      book.benches.push_back(std::string("gemv:") + type + size + ":layout=t");
  }
  return book;
}

}  // namespace ridge::gemv_detail
