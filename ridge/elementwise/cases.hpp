// The elementwise operators' cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/activation_oracle.hpp>
#include <ridge/check/case_book.hpp>
#include <ridge/elementwise/elementwise.hpp>
#include <ridge/elementwise/oracle.hpp>

#include <algorithm>

namespace ridge::elementwise_detail {

// n elements, or a matrix of rows x n; with bias=1, b is one row of it.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  std::vector<std::int64_t> shape{c.dim("n")};
  if (c.has("rows")) shape = {c.dim("rows"), c.dim("n")};
  std::vector<TensorType> types(c.op == "add" || c.op == "mul" ? 2 : 1, TensorType{c.dtype, shape});
  if (c.dim("bias", 0) != 0) types.back().shape = {c.dim("n")};
  return types;
}

// Tolerance: add, mul, relu and copy are one correctly rounded operation: one rounding into the dtype.
// The others are at most 8 operations of a unit each around a function that amplifies the relative error of its
// argument: e^t by |t|, erfc(t) by 2 t^2. Nothing cancels. A part of x below the normal numbers may be lost.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  check::Expected e;
  const bool exact = c.op == "copy" || c.op == "relu" || !is_floating(c.dtype);
  const bool rounded_once = c.op == "add" || c.op == "mul";
  const DType compute = c.dtype == f64 ? f64 : f32;
  for (std::size_t i = 0; i < in[0].values.size(); ++i) {
    const double a = in[0].values[i], b = in.size() > 1 ? in[1].values[i % in[1].values.size()] : 0;
    double want = static_cast<double>(oracle(c.op, a, b));
    if (c.dtype == i32 && rounded_once)  // wraps
      want = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(c.op == "add" ? static_cast<std::uint32_t>(static_cast<std::int32_t>(a)) +
                                                         static_cast<std::uint32_t>(static_cast<std::int32_t>(b))
                                                   : static_cast<std::uint32_t>(static_cast<std::int32_t>(a)) *
                                                         static_cast<std::uint32_t>(static_cast<std::int32_t>(b))));
    double tolerance = 0;
    if (!exact) {
      tolerance = check::rounding_error(c.dtype, want) + check::rounding_error(f64, want);  // the oracle is rounded too
      const double gate = 1.6 * std::fabs(a) * (1 + 0.045 * a * a);   // the exponent in gelu_tanh, three roundings deep
      const double quick = size_of(c.dtype) == 2 ? std::fabs(a) : 0;  // the quick e^x: |x| 2^-23
      const double amplified = c.op == "gelu" ? a * a : c.op == "gelu_tanh" ? 4 * gate : quick;
      // Bound of the argument's errors: the type's relative roundoff, not only `want`'s own rounding.
      const double roundoff =
          std::max(check::rounding_error(compute, want), check::roundoff(compute) * std::fabs(want));
      if (!rounded_once)
        tolerance += 16 * check::rounding_error(compute, want) + 2 * std::min(amplified, 1000.0) * roundoff +
                     static_cast<double>(check::lost_below_normal(c.op, a, compute == f64 ? 0x1p-1022 : 0x1p-126));
    }
    // The largest finite number of the type, half a unit on: beyond it the rounded result is infinite.
    if (!exact && std::isfinite(want)) {
      const auto rounded = check::round_to(c.dtype, want);
      if (std::isinf(rounded)) want = rounded;
    }
    e.value.push_back(want);
    e.tolerance.push_back(tolerance);
  }
  return {e};
}

inline check::CaseBook book_of(Elementwise f) {
  const std::string op(name(f));
  check::CaseBook book{
      .op = op,
      .keys = {"n"},
      .optional_keys = arity(f) == 2 ? std::vector<std::string>{"rows", "bias"} : std::vector<std::string>{"rows"},
      .inputs = case_inputs,
      .oracle = case_oracle,
      .adjust = nullptr,
      .tests = {},
      .benches = {}};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  // Sizes around every tile: one access (4, 8), a block of vec4 (1,024; 2,048 in 16 bits), of vec4x2 (2,048; 4,096).
  for (const char* n :
       {"0", "1", "3", "4", "5", "255", "1023", "1024", "1025", "2047", "2048", "2049", "4097", "10007"})
    test("f32:n=" + std::string(n));
  for (const char* type : {"f16", "bf16", "f64"}) {
    for (const char* n : {"0", "1", "7", "8", "9", "2049", "4097", "8193"}) test(std::string(type) + ":n=" + n);
    for (const char* fill : {"nan", "inf", "overflow", "denormal", "alternating,7"})
      test(std::string(type) + ":n=1000:fill=" + fill);
  }
  for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":n=988:fill=alternating,7:seed=588598");
  for (const char* fill : {"nan", "inf", "overflow", "denormal", "ones", "ints"})
    test("f32:n=1000:fill=" + std::string(fill));
  for (const char* place : {"offset", "padded", "strided", "reversed", "inplace"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":n=37,rows=29:place=" + place);
  test("f32:n=5000:place=inplace");
  if (arity(f) == 2)
    for (const char* place : {"plain", "offset", "padded", "strided"})
      for (const char* type : {"f32", "bf16"})
        for (const char* n : {"1", "40", "1025"}) test(std::string(type) + ":n=" + n + ",rows=7,bias=1:place=" + place);
  if (arity(f) == 2 || f == Elementwise::relu) {
    test("i32:n=5000:fill=ints");
    test("i32:n=5000:fill=overflow");
  }
  if (f == Elementwise::copy)
    for (const char* type : {"i64", "i32", "i8", "u8", "bool", "f8e4m3", "f8e5m2"})
      test(std::string(type) + ":n=5000:fill=uniform");
  for (const char* type : {"f32", "bf16"}) book.benches.push_back(op + ":" + type + ":n=268435456");
  return book;
}

}  // namespace ridge::elementwise_detail
