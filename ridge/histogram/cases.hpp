// The histogram's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/histogram/oracle.hpp>

#include <charconv>

namespace ridge::histogram_detail {

// n samples; with rows, a matrix of rows x n.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  std::vector<std::int64_t> shape{c.dim("n")};
  if (c.has("rows")) shape = {c.dim("rows"), c.dim("n")};
  return std::vector<TensorType>{{c.dtype, shape}};
}

struct CaseBins {
  std::int64_t bins = 256;
  double lo = 0, hi = 256;
};
inline CaseBins bins_of(const check::Case& c) {
  CaseBins b;
  const auto number = [](std::string_view text, auto& value) {
    std::from_chars(text.data(), text.data() + text.size(), value);
  };
  b.bins = c.dim("bins", 256);
  if (c.options.has("bins")) number(c.options.text("bins"), b.bins);  // also an option of the operator
  if (c.dtype == i8) b.lo = -128, b.hi = 128;
  if (c.options.has("range")) {
    const std::string_view range = c.options.text("range");
    const std::size_t comma = std::min(range.find(','), range.size() - 1);
    number(range.substr(0, comma), b.lo);
    number(range.substr(comma + 1), b.hi);
  }
  return b;
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const auto [bins, lo, hi] = bins_of(c);
  return {{oracle(in[0].values, bins, lo, hi), std::vector<double>(static_cast<std::size_t>(bins), 0.0)}};
}

// With the default fill, every third sample is an edge, or its neighbour in the sample's type.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (c.options.has("fill")) return;
  const auto [bins, lo, hi] = bins_of(c);
  const std::vector<double> edges = oracle_edges(bins, lo, hi);
  for (std::size_t i = 0; i < in[0].values.size(); i += 3) {
    const double edge = edges[i / 9 % edges.size()], side = static_cast<double>(i / 3 % 3) - 1;
    const double neighbour = edge + side * (is_floating(c.dtype) ? 2 * check::rounding_error(c.dtype, edge) : 1);
    double least = -HUGE_VAL, most = HUGE_VAL;  // range of the type
    if (!is_floating(c.dtype)) {
      const double half_range = std::ldexp(1.0, static_cast<int>(8 * size_of(c.dtype)) - 1);
      least = c.dtype == u8 ? 0 : -half_range;
      most = c.dtype == u8 ? 255 : c.dtype == i64 ? 0x1.fffffffffffffp62 : half_range - 1;
    }
    in[0].values[i] = std::clamp(neighbour, least, most);
  }
}

inline check::CaseBook book() {
  check::CaseBook book{.op = "histogram",
                       .keys = {"n"},
                       .optional_keys = {"rows", "bins"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {}};
  const auto test = [&](std::string rest) { book.tests.push_back("histogram:" + rest); };
  const std::string bytes = ":n=", range = ":range=-2,2";
  // Around an access (16 bytes), a block of one access per thread (256, 512 and 1,024 threads).
  for (const char* n : {"0", "1", "15", "16", "17", "31", "4095", "4096", "4097", "8193", "61440", "61441"})
    test("u8" + bytes + n);
  for (const char* n :
       {"0", "1", "3", "4", "5", "1023", "1024", "1025", "2047", "2048", "2049", "8191", "8192", "8193"})
    test("f32" + bytes + n + range);
  for (const char* type : {"f16", "bf16", "f64"}) {
    for (const char* n : {"0", "1", "7", "8", "9", "4097"}) test(type + bytes + n + range);
    for (const char* fill : {"nan", "inf", "overflow", "denormal"})
      test(type + bytes + "5000" + range + ":fill=" + fill);
  }
  for (const char* fill : {"nan", "inf", "overflow", "denormal", "ones", "ints"})
    test("f32" + bytes + "5000" + range + ":fill=" + fill);
  // Skew: all samples in one bin, most in a few, and more in one than an 8-bit counter holds.
  for (const char* fill : {"constant,7", "zipf", "uniform"})
    for (const char* type : {"u8", "i8", "i32", "i64", "f32", "f16", "bf16", "f64"})
      test(std::string(type) + bytes + "9001:range=0,256:fill=" + fill);
  test("u8:n=150007:fill=constant,255");
  test("f32:n=40009:bins=60000:range=0,256:fill=constant,7");
  // Every byte value, with its sign.
  for (const char* type : {"u8", "i8"}) {
    test(type + bytes + "5000:fill=uniform");
    for (const char* bins : {"1", "10", "1000"}) test(type + bytes + "5000,bins=" + bins + ":fill=uniform");
    test(type + bytes + "5000:fill=uniform:range=-20.5,99.5:bins=7");
  }
  // Bins: one, a few, more than fit in shared memory with 32, 8 and 1 copies, and packed; edges no type represents.
  for (const char* bins :
       {"1", "2", "3", "10", "255", "257", "1000", "1815", "1816", "7000", "20000", "65536", "120000"})
    test("f32:n=5003,bins=" + std::string(bins) + range);
  for (const char* type : {"f32", "f64", "f16", "bf16"}) {
    test(type + bytes + "5003:bins=10:range=0.1,0.7");
    test(type + bytes + "5003:bins=49:range=-1,1");
    test(type + bytes + "5003:bins=64:range=1000,1001");
    test(type + bytes + "5003:bins=300:range=0,300");
  }
  test("f32:n=5003:bins=4096:range=16777217,16777218");  // bins narrower than the spacing of float32
  test("f32:n=5003:bins=64:range=-3.4e38,3.4e38");
  test("f32:n=5003:bins=64:range=1e-44,1e-43:fill=denormal");
  test("f64:n=5003:bins=64:range=-8e307,8e307");
  test("f32:n=5003:bins=64:range=1e39,1e40");  // no float32 is in the range
  for (const char* type : {"i32", "i64"}) {
    test(type + bytes + "5003:bins=256:range=0,256");
    test(type + bytes + "5003:bins=7:range=-10,90");
    test(type + bytes + "5003:bins=100:range=-0.5,99.5");
    test(type + bytes + "5003:bins=1000:range=3,10");
    test(type + bytes + "5003:bins=65536:range=-2147483648,2147483647:fill=overflow");
    test(type + bytes + "5003:bins=333:range=-2147483648,2147483647");
  }
  test("i64:n=5003:bins=256:range=-9223372036854775808,9223372036854775807:fill=overflow");
  test("i64:n=5003:bins=999:range=-9223372036854775808,9223372036854775807");
  test("i32:n=5003:bins=16:range=5e9,6e9");
  // Views, widths, and the narrow result.
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* type : {"u8", "f32", "bf16", "f64"})
      test(std::string(type) + ":n=137,rows=29:range=0,256:fill=zipf:place=" + place);
  test("u8:n=100003:place=offset");
  test("u8:n=70001:warp=64");
  test("f32:n=9001:bins=30000:range=-3,3:warp=64");
  test("u8:n=5000:out=i32");
  test("f32:n=5000:bins=1000:range=-2,2:out=i32:place=strided");

  for (const char* bench :
       {"u8:n=268435456:fill=uniform", "u8:n=268435456:fill=constant,7", "u8:n=268435456:fill=zipf",
        "i32:n=268435456:range=0,256:fill=uniform", "i32:n=268435456:range=0,256:fill=zipf",
        "i32:n=268435456:range=0,256:fill=constant,7", "f32:n=268435456:range=0,1:fill=uniform",
        "f32:n=268435456:range=-4,4:fill=normal", "bf16:n=268435456:range=-4,4:fill=normal",
        "f32:n=268435456,bins=1024:range=0,1:fill=uniform", "f32:n=268435456,bins=16384:range=0,1:fill=uniform",
        "f32:n=268435456,bins=65536:range=0,1:fill=uniform", "f32:n=268435456,bins=65536:range=-4,4:fill=normal",
        "f32:n=268435456,bins=65536:range=0,1:fill=constant,0.5", "u8:n=1048576:fill=uniform"})
    book.benches.push_back("histogram:" + std::string(bench));
  return book;
}

}  // namespace ridge::histogram_detail
