// embedding's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/embedding/oracle.hpp>
#include <ridge/embedding/sweep.hpp>

#include <cmath>

namespace ridge::embedding_detail {

// wide=1: indices are i64. With b, they are [b, n].
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t n = c.dim("n");
  return std::vector<TensorType>{
      {c.dtype, {c.dim("rows"), c.dim("cols")}},
      {c.dim("wide", 0) ? i64 : i32, c.has("b") ? std::vector{c.dim("b"), n} : std::vector{n}}};
}

// Indices spread over the whole table. In tests some are outside of it, nearby and far away; in benchmarks every index
// reads a row.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  const double far[] = {-1, static_cast<double>(c.dim("rows")), -2147483648.0, 2147483647.0};
  constexpr std::size_t most_of_tests = 4096;
  const bool is_test = in[1].values.size() <= most_of_tests;
  std::int64_t i = 0, rows = c.dim("rows");
  for (double& v : in[1].values) {
    const std::int64_t mixed = i * 2654435761 % 1000003;
    v = (is_test && mixed % 11 == 3) || rows == 0 ? far[mixed % 4] : static_cast<double>(mixed % rows);
    if (c.dim("wide", 0) && v == 2147483647.0) v = 0x1p40;
    ++i;
  }
}

// Copies are exact; a scale adds one product in float32 and one rounding into the type.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const std::int64_t rows = in[0].type.shape[0], cols = in[0].type.shape[1];
  const double scale = static_cast<float>(*c.options.real("embedding", "scale", 1));
  check::Expected e;
  for (double index : in[1].values)
    for (std::int64_t col = 0; col < cols; ++col) {
      double value = element_oracle(in[0].values, rows, cols, index, col) * scale;
      if (std::isfinite(value) && std::isinf(check::round_to(c.dtype, value))) value = check::round_to(c.dtype, value);
      e.value.push_back(value);
      const double rounding = check::rounding_error(f32, value) + check::rounding_error(c.dtype, value);
      e.tolerance.push_back(scale == 1 || !std::isfinite(value) ? 0 : rounding);
    }
  return {e};
}

inline check::CaseBook book() {
  const std::string op = "embedding";
  check::CaseBook book{.op = op,
                       .keys = {"rows", "cols", "n"},
                       .optional_keys = {"b", "wide"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {},
                       .adjusts_small = true,
                       .draw = draw};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* type : {"f32", "f16", "bf16"}) {
    const auto each = [&](const std::string& rest) { test(std::string(type) + ":" + rest); };
    // Rows around 16 bytes; vectors around those of a block at once (256, and four times that).
    for (const char* size :
         {"rows=5,cols=1,n=7", "rows=5,cols=4,n=9", "rows=5,cols=8,n=1", "rows=7,cols=9,n=33", "rows=100,cols=64,n=255",
          "rows=3,cols=264,n=31", "rows=1,cols=16,n=1100", "rows=9,cols=16,b=3,n=5", "rows=9,cols=24,b=2,n=6,wide=1",
          "rows=9,cols=5,n=40,wide=1", "rows=0,cols=8,n=5", "rows=5,cols=0,n=5", "rows=5,cols=8,n=0"})
      each(size);
    for (const char* place : {"offset", "padded", "strided", "reversed"}) {
      each("rows=9,cols=16,n=37:place=" + std::string(place));
      each("rows=9,cols=16,b=3,n=7,wide=1:place=" + std::string(place));
    }
    for (const char* fill : {"nan", "inf", "denormal", "overflow"})
      each("rows=9,cols=16,n=21:fill=" + std::string(fill));
    for (const char* scale : {"11.3137085", "-0.5", "0"}) {
      each("rows=9,cols=16,n=37:scale=" + std::string(scale));
      each("rows=9,cols=7,n=37:scale=" + std::string(scale));
    }
    each("rows=9,cols=32,n=300:warp=64");
  }
  for (const char* type : {"f32", "bf16"})
    for (const char* size :
         {"rows=50257,cols=768,n=65536", "rows=128256,cols=4096,n=32768", "rows=1000000,cols=64,n=1048576"})
      book.benches.push_back(op + ":" + type + ":" + size);
  return book;
}

}  // namespace ridge::embedding_detail
