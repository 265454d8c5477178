// window_sum's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/window_sum/oracle.hpp>

namespace ridge::window_sum_detail {

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  if (c.has("rows")) return std::vector<TensorType>{{c.dtype, {c.dim("rows"), c.dim("n")}}};
  return std::vector<TensorType>{{c.dtype, {c.dim("n")}}};
}

// Tolerance: one roundoff of float32, relative to the sum of |x|, per addition of an element. There are w in the
// textbook variants (`serial`), which sum a window one by one; about 50 in `pieces`, and one more for each 131,072
// elements in `wide`. Whole numbers whose sums float32 represents are exact; i32 wraps.
inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              bool serial) {
  const std::int64_t n = in[0].cols(), rows = n ? in[0].rows() : 0, w = c.dim("w");
  const double width = static_cast<double>(std::min(w, 2 * n)), u = check::roundoff(f32);
  const double additions = serial ? width : std::min(width, 64 + width / 131072);
  check::Expected e;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < n; ++i) {
      const WindowOracle o(in[0].values.data() + row * n, n, i, w);
      double value = o.sum, tolerance = 0;
      if (c.dtype == i32) {
        value = static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(value)));
      } else {
        if (!(o.integral && o.magnitude * u <= 1)) tolerance = additions * u * o.magnitude;
        if (std::isfinite(value) && std::isinf(check::round_to(c.dtype, value)))
          value = check::round_to(c.dtype, value);
        if (c.dtype != f32) tolerance += check::rounding_error(c.dtype, value);
      }
      e.value.push_back(value);
      e.tolerance.push_back(std::isfinite(value) ? tolerance : 0);
    }
  return {e};
}
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, false);
}
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant == "naive" || variant == "shared") expected = oracle_of(c, in, true);
}

inline check::CaseBook book() {
  const std::string op = "window_sum";
  check::CaseBook book{.op = op,
                       .keys = {"n", "w"},
                       .optional_keys = {"rows"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = nullptr,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const std::vector<std::string> types{"f32", "f16", "bf16", "i32"};
  // Around a piece (8), a tile (1,024 and 4,096), and windows wider than the row.
  for (const char* size : {"n=0,w=3", "n=1,w=1", "n=1,w=9", "n=7,w=3", "n=8,w=15", "n=9,w=17", "n=20,w=101",
                           "n=1023,w=5", "n=1024,w=15", "n=1025,w=17", "n=4097,w=31"})
    for (const std::string& type : types) test(type + ":" + size);
  // Every remainder of the reach by a piece; up to as many pieces between as are added one by one, and more.
  for (const char* w : {"1",  "3",  "7",   "13",  "15",  "17",  "19",  "25",  "29",   "31",  "33",
                        "63", "65", "255", "257", "263", "265", "271", "273", "1001", "2049"}) {
    test("f32:n=2500,w=" + std::string(w));
    test("bf16:n=1500,w=" + std::string(w) + ":fill=ints");
    test("i32:n=1100,w=" + std::string(w));
  }
  test("f32:n=9000,w=4097:fill=ints");
  test("f32:n=9000,w=4097:fill=constant,0.1");  // roundings of one sign
  // Wider than a tile of 4,096, without the variants whose time grows with the width: from the first such width, with
  // every remainder of the reach by a piece; one that reaches beyond the row everywhere;
  // rows of whole spans of 256, and others.
  for (const char* w : {"4097", "4099", "4101", "4103", "4105", "4107", "4109", "4111", "9001", "30001"}) {
    test("f32:n=9300,w=" + std::string(w) + ":fill=ints:variant=wide");
    test("bf16:n=8200,w=" + std::string(w) + ":fill=ints:variant=wide");
  }
  for (const std::string& type : types) {
    for (const char* place : {"offset", "padded"})
      test(type + ":rows=2,n=5009,w=4501:fill=ints:place=" + place + ":variant=wide");
    test(type + ":rows=3,n=8192,w=5001:variant=wide");
    test(type + ":n=9001,w=5003:warp=64:variant=wide");
    if (type[0] != 'i')
      for (const char* fill : {"nan", "inf"}) test(type + ":n=9300,w=4501:fill=" + fill + ":variant=wide");
  }
  for (const std::string& type : types) {
    for (const char* w : {"5", "21", "301"}) {
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        test(type + ":rows=3,n=1030,w=" + w + ":fill=ints:place=" + place);
      test(type + ":rows=5,n=131,w=" + w);
      test(type + ":rows=2,n=1032,w=" + w + ":warp=64");
    }
    test(type + ":rows=0,n=5,w=3");
    test(type + ":rows=5,n=0,w=3");
  }
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* fill : {"nan", "inf", "denormal", "ones"})
      for (const char* w : {"7", "35", "601"}) test(std::string(type) + ":n=1200,w=" + w + ":fill=" + fill);
  for (const char* w : {"7", "35", "601"}) {
    test("f16:n=1200,w=" + std::string(w) + ":fill=overflow");
    test("i32:n=1200,w=" + std::string(w) + ":fill=constant,2000000000");
    test("f32:n=1200,w=" + std::string(w) + ":fill=constant,1e30");
  }
  for (const char* type : {"f32", "bf16"})
    for (const char* size :
         {"n=268435456,w=9", "n=268435456,w=63", "n=268435456,w=511", "n=268435456,w=4097", "rows=65536,n=1024,w=31"})
      book.benches.push_back(op + ":" + type + ":" + size);
  return book;
}

}  // namespace ridge::window_sum_detail
