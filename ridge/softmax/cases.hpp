// softmax's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/core/axes.hpp>
#include <ridge/softmax/oracle.hpp>
#include <ridge/softmax/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridge::softmax_detail {

// The axis that is summed over, counted from the first.
inline Result<int> axis_of_case(const check::Case& c, int rank) {
  const auto axis = c.options.integer(c.op, "axis", -1);
  return axis ? axis_of(c.op, *axis, rank) : axis.error();
}

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto backward = c.options.flag(c.op, "backward");
  if (!backward) return backward.error();
  std::vector<std::int64_t> shape{c.dim("rows"), c.dim("cols")};
  if (c.has("inner")) shape.push_back(c.dim("inner"));
  if (const auto axis = axis_of_case(c, static_cast<int>(shape.size())); !axis) return axis.error();
  return std::vector<TensorType>(*backward ? 2 : 1, {c.dtype, shape});
}

// Values of a tensor in the order of one whose axis= is the last, and back.
inline std::vector<double> reordered(const check::Case& c, const TensorType& type, const std::vector<double>& values,
                                     bool back) {
  const auto& shape = type.shape;
  const auto axis = static_cast<std::size_t>(*axis_of_case(c, static_cast<int>(shape.size())));
  std::size_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto cols = static_cast<std::size_t>(shape[axis]);
  std::vector<double> moved(values.size());
  for (std::size_t o = 0, n = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i)
      for (std::size_t col = 0; col < cols; ++col, ++n) {
        const std::size_t there = (o * cols + col) * inner + i;
        if (back) moved[there] = values[n];
        else moved[n] = values[there];
      }
  return moved;
}
// The tensor with that axis as the last one, as rows.
inline check::HostTensor as_rows(const check::Case& c, const check::HostTensor& t) {
  std::vector<std::int64_t> shape = t.type.shape;
  const auto axis = shape.begin() + *axis_of_case(c, static_cast<int>(shape.size()));
  std::rotate(axis, axis + 1, shape.end());
  return {{t.type.dtype, shape}, reordered(c, t.type, t.values, false)};
}

inline bool is_backward(const check::Case& c) { return *c.options.flag(c.op, "backward"); }

// A gradient's second input is the forward result: computed here from the row that the fill has put there.
inline void as_result(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (!is_backward(c)) return;
  check::HostTensor y = as_rows(c, in[1]);
  for (std::int64_t r = 0, cols = y.cols(); cols > 0 && r < y.rows(); ++r) {
    double* row = y.values.data() + r * cols;
    const RowOracle oracle(row, cols);
    for (std::int64_t i = 0; i < cols; ++i)
      row[i] = check::round_to(c.dtype, c.op == "log_softmax" ? oracle.log_softmax(row[i]) : oracle.softmax(row[i]));
  }
  in[1].values = reordered(c, in[1].type, y.values, true);
}

// The error of a sum of n terms, in roundoffs of the terms' absolute sum: the number of additions on a term's way. All
// n if one thread has the row (`serial`); else those of a lane, which has a 32nd of the row or less, a tree, and a
// margin for the factors by which `online` rescales sums to a new maximum.
inline double additions(std::int64_t n, bool serial) {
  const auto terms = static_cast<double>(n);
  return serial ? terms : std::min(terms, 64 + std::max(8 * std::sqrt(terms), terms / 32));
}

// Tolerance in units of the roundoff u of the type computed in: the sum of n terms as above; then the difference, the
// product, and for the logarithm an exponential (as below). No promise if partial sums of the terms may leave the
// range.
inline std::vector<check::Expected> gradient_oracle(const check::Case& c, const std::vector<check::HostTensor>& in,
                                                    bool serial) {
  const bool log = c.op == "log_softmax";
  const std::int64_t cols = in[0].cols(), rows = cols ? in[0].rows() : 0;
  const double u = c.dtype == f64 ? check::roundoff(f64) : check::roundoff(f32);
  const double least = c.dtype == f64 ? 0x1p-1022 : 0x1p-126, most = c.dtype == f64 ? 0x1.8p1023 : 0x1.fffffep127;
  const double summed = additions(cols, serial);
  check::Expected e;
  for (std::int64_t r = 0; r < rows; ++r) {
    const double *dy = in[0].values.data() + r * cols, *y = in[1].values.data() + r * cols;
    double sum = 0, size = 0;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double term = log ? dy[i] : dy[i] * y[i];
      sum += term;
      size += std::fabs(term);
    }
    const double error = (summed + 2) * u * size;
    for (std::int64_t i = 0; i < cols; ++i) {
      const double factor = log ? std::exp(y[i]) : y[i];
      const double want = log ? dy[i] - factor * sum : factor * (dy[i] - sum);
      double tolerance = std::fabs(factor) * (error + 2 * u * (std::fabs(dy[i]) + std::fabs(sum))) + 2 * least;
      if (log)
        tolerance += factor * std::fabs(sum) * (3 * std::min(std::fabs(y[i]), 100.0) + 8) * u + u * std::fabs(dy[i]);
      if (std::isfinite(size) && size > most) tolerance = std::numeric_limits<double>::infinity();
      e.value.push_back(want);
      e.tolerance.push_back(
          std::isfinite(want) ? tolerance + check::rounding_error(c.dtype, std::fabs(want) + tolerance) : 0);
    }
  }
  return {e};
}

// Tolerance, relative to the result, in units of the roundoff u of the type computed in: the difference x - max (1 u of
// it, so |d| u of the exponential), the exponential (|d| log2(e) for the product, 4 for the function), twice; the sum
// of n terms as above; reciprocal and product (2). Then one rounding to the dtype. Exponentials below the least normal
// number may underflow.
inline std::vector<check::Expected> oracle_of_rows(const check::Case& c, const std::vector<check::HostTensor>& in,
                                                   bool serial) {
  if (is_backward(c)) return gradient_oracle(c, in, serial);
  const bool log = c.op == "log_softmax", two_float = c.options.text("accumulate") == "two_float";
  const std::int64_t cols = in[0].cols(), rows = cols ? in[0].rows() : 0;
  const double u = c.dtype == f64 ? check::roundoff(f64) : check::roundoff(f32);
  const double least = c.dtype == f64 ? 0x1p-1022 : 0x1p-126;
  check::Expected e;
  for (std::int64_t r = 0; r < rows; ++r) {
    const double* x = in[0].values.data() + r * cols;
    const RowOracle row(x, cols);
    const double summed = additions(cols, serial);
    for (std::int64_t i = 0; i < cols; ++i) {
      const double d = std::isfinite(x[i]) && std::isfinite(row.max) ? std::fabs(x[i] - row.max) : 0;
      double want = log ? row.log_softmax(x[i]) : row.softmax(x[i]);
      if (std::isinf(check::round_to(c.dtype, want))) want = check::round_to(c.dtype, want);  // beyond the type's range
      double tolerance;
      if (two_float) {
        // Two exponentials (2^-35), sums, and what is left of them in a quotient; a logarithm of 2 units.
        const double n = static_cast<double>(cols) + 4, all = 0x1p-33 + n * n * u * u;
        tolerance = log ? 4 * u * std::fabs(std::log(row.sum)) + all : std::fabs(want) * all + 0x1p-149;
      } else if (log) {
        // the sum's relative error becomes absolute; x - max is rounded once, the result once more
        tolerance = (summed + 16) * u + (2 * d + 2 * std::fabs(want)) * u;
      } else {
        tolerance = std::fabs(want) * (2 * (3 * d + 4) + 3 * std::min(d, 100.0) + summed + 4) * u + least;
      }
      e.value.push_back(want);
      e.tolerance.push_back(std::isfinite(want) ? tolerance + check::rounding_error(c.dtype, want) : 0);
    }
  }
  return {e};
}

// serial: one thread has the row.
inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              bool serial) {
  std::vector<check::HostTensor> rows;
  for (const check::HostTensor& t : in) rows.push_back(as_rows(c, t));
  auto expected = oracle_of_rows(c, rows, serial);
  for (auto* values : {&expected[0].value, &expected[0].tolerance}) *values = reordered(c, in[0].type, *values, true);
  return expected;
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, false);
}
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  if (variant == "naive" || variant == "columns") expected = oracle_of(c, in, true);
}

inline check::CaseBook book_of(bool log) {
  const std::string op = log ? "log_softmax" : "softmax";
  check::CaseBook book{.op = op,
                       .keys = {"rows", "cols"},
                       .optional_keys = {"inner"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = as_result,
                       .tolerances = case_tolerances,
                       .tests = {},
                       .benches = {},
                       .draw = draw};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  // Empty, one, and around the capacities of the resident variants for elements of 4 and of 2 bytes.
  for (const char* size :
       {"rows=0,cols=5",    "rows=5,cols=0",    "rows=1,cols=1",    "rows=3,cols=1",    "rows=5,cols=31",
        "rows=4,cols=32",   "rows=9,cols=33",   "rows=7,cols=127",  "rows=5,cols=128",  "rows=5,cols=129",
        "rows=3,cols=511",  "rows=3,cols=512",  "rows=3,cols=513",  "rows=3,cols=1023", "rows=3,cols=1024",
        "rows=3,cols=1025", "rows=2,cols=2049", "rows=2,cols=4096", "rows=2,cols=4097", "rows=1,cols=8193"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size);
  for (const char* type : {"f16", "f64"})
    for (const char* size : {"rows=3,cols=1", "rows=5,cols=100", "rows=3,cols=1000"})
      test(std::string(type) + ":" + size);
  // Rows beyond 16k elements fill the largest resident variant, beyond 64k they fit none: only streaming ones are left.
  for (const char* size : {"rows=1,cols=16385", "rows=2,cols=50257", "rows=1,cols=65537", "rows=1,cols=140000"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size);
  for (const char* type : {"f32", "f16", "bf16", "f64"})
    for (const char* fill :
         {"nan", "inf", "overflow", "denormal", "ones", "constant,-1e4", "constant,inf", "constant,-inf"})
      test(std::string(type) + ":rows=6,cols=200:fill=" + fill);
  // Elements so large that an exponential's argument is rounded by more than its range.
  for (const char* type : {"f32", "bf16"})
    for (const char* fill : {"constant,1e20", "constant,-1e20"})
      for (const char* size : {"rows=6,cols=200", "rows=70,cols=17", "rows=2,cols=20001"})
        test(std::string(type) + ":" + size + ":fill=" + fill);
  // Rows of 1 to 128 whole vectors, around the lanes that have them and the rows of a block: the last block has fewer.
  struct Vectors {
    DType type;
    int elements;  // of a vector
  };
  constexpr Vectors types_of_vectors[] = {{f32, 4}, {f16, 8}, {bf16, 8}};
  const auto test_vectors = [&](Vectors of, int rows, int vectors, const std::string& rest) {
    test(std::string(name(of.type)) + ":rows=" + std::to_string(rows) +
         ",cols=" + std::to_string(vectors * of.elements) + rest);
  };
  constexpr struct {
    int rows, vectors;
  } short_rows[] = {{67, 1},  {97, 7},  {130, 8}, {35, 9}, {33, 16}, {19, 17}, {17, 32}, {17, 33},
                    {15, 48}, {11, 49}, {9, 64},  {5, 65}, {7, 96},  {5, 97},  {3, 127}, {1, 128}};
  for (const Vectors of : types_of_vectors)
    for (const char* backward : {"", ":backward"})
      for (const auto& size : short_rows) test_vectors(of, size.rows, size.vectors, backward);
  // Special values in them, and other places.
  for (const Vectors of : types_of_vectors)
    for (const char* with :
         {"fill=nan", "fill=inf", "fill=special", "fill=overflow", "fill=constant,inf", "fill=constant,-inf",
          "fill=denormal", "warp=64", "place=packed", "place=padded", "place=inplace", "place=offset"})
      for (const auto& size : {short_rows[1], short_rows[7], short_rows[14]})
        test_vectors(of, size.rows, size.vectors, std::string(":") + with);
  for (const Vectors of : types_of_vectors)
    for (const char* with : {"fill=nan", "fill=inf", "warp=64", "place=packed", "place=inplace", "place=offset"})
      for (const auto& size : {short_rows[1], short_rows[7], short_rows[14]})
        test_vectors(of, size.rows, size.vectors, std::string(":") + with + ":backward");
  for (const char* type : {"f32", "bf16"})
    for (const char* place : {"offset", "padded", "strided", "reversed", "inplace"})
      test(std::string(type) + ":rows=6,cols=203:place=" + place);
  // A few columns: more rows than a block loads at a time, and lengths with and without a factor of 32.
  for (const char* backward : {"", ":backward"})
    for (const char* type : {"f32", "f16", "bf16", "f64"})
      for (const char* rest : {"rows=300,cols=3", "rows=300,cols=17", "rows=129,cols=24", "rows=257,cols=32",
                               "rows=65,cols=2:warp=64", "rows=300,cols=17:place=offset",
                               "rows=130,cols=6:place=inplace", "rows=70,cols=17:fill=nan", "rows=70,cols=17:fill=inf"})
        test(std::string(type) + ":" + rest + ":variant=span_32" + backward);
  for (const char* fill : {"overflow", "constant,-inf", "constant,inf"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":rows=70,cols=17:variant=span_32:fill=" + fill);
  // Rows of any alignment and spacing, around what a row's lanes keep; the last block has fewer rows.
  constexpr struct {
    const char *size, *variant;
  } kept_elements[] = {
      {"rows=131,cols=8", "elements_8"},   {"rows=67,cols=3", "elements_8"},    {"rows=67,cols=16", "elements_16"},
      {"rows=65,cols=9", "elements_16"},   {"rows=35,cols=32", "elements_32"},  {"rows=33,cols=17", "elements_32"},
      {"rows=19,cols=64", "elements_64"},  {"rows=18,cols=33", "elements_64"},  {"rows=9,cols=128", "elements_128"},
      {"rows=11,cols=65", "elements_128"}, {"rows=5,cols=256", "elements_512"}, {"rows=6,cols=101", "elements_512"},
      {"rows=3,cols=512", "elements_1k"},  {"rows=2,cols=257", "elements_1k"},  {"rows=2,cols=2048", "elements_4k"},
      {"rows=2,cols=513", "elements_4k"},  {"rows=1,cols=8192", "elements_16k"}};
  for (const char* backward : {"", ":backward"})
    for (const char* type : {"f32", "f16", "bf16", "f64"})
      for (const char* place : {"padded", "packed", "offset", "inplace"})
        for (const auto& of : kept_elements) {
          if (type == std::string_view("f64") && *backward) continue;  // half as many elements: below
          test(std::string(type) + ":" + of.size + ":place=" + place + ":variant=" + of.variant + backward);
        }
  for (const auto& of : {kept_elements[1], kept_elements[5], kept_elements[11], kept_elements[15]})
    for (const char* type : {"f32", "bf16", "f64"})
      for (const char* with : {"fill=nan", "fill=inf", "fill=overflow", "fill=constant,-inf", "warp=64"})
        test(std::string(type) + ":" + of.size + ":" + with + ":variant=" + of.variant);
  for (const char* rest : {"rows=131,cols=8:place=padded:variant=elements_8", "rows=70,cols=16:variant=elements_16",
                           "rows=70,cols=32:variant=elements_32", "rows=20,cols=64:fill=nan:variant=elements_64",
                           "rows=7,cols=128:fill=inf:variant=elements_128",
                           "rows=5,cols=128:place=offset:variant=elements_512", "rows=3,cols=256:variant=elements_1k",
                           "rows=2,cols=1024:warp=64:variant=elements_4k", "rows=1,cols=4096:variant=elements_16k"})
    test(std::string("f64:") + rest + ":backward");
  for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":rows=1,cols=16384:variant=elements_16k");
  // Long rows that are not co-aligned, and those of f64.
  for (const char* type : {"f32", "bf16", "f64"})
    for (const char* rest : {"rows=2,cols=20001:place=packed", "rows=2,cols=20002:place=offset",
                             "rows=2,cols=20001:fill=nan", "rows=1,cols=17:place=padded"})
      test(std::string(type) + ":" + rest + ":variant=vec4");
  for (const char* backward : {"", ":backward"})
    for (const char* rest : {"rows=3,cols=20001:place=offset", "rows=2,cols=20001:fill=nan", "rows=1,cols=30000"})
      test(std::string("f64:") + rest + ":variant=split" + backward);
  // A few long rows, in slices; the last slice is short.
  for (const char* backward : {"", ":backward"})
    for (const char* type : {"f32", "bf16"})
      for (const char* rest : {"rows=3,cols=30011:place=offset", "rows=1,cols=30000:place=inplace",
                               "rows=3,cols=20001:warp=64", "rows=2,cols=20001:fill=nan"})
        test(std::string(type) + ":" + rest + ":variant=split" + backward);
  for (const char* fill : {"inf", "overflow", "constant,-inf"})
    test(std::string("f32:rows=2,cols=20001:variant=split:fill=") + fill);
  for (const char* size : {"rows=9,cols=33", "rows=3,cols=1000", "rows=2,cols=4099", "rows=1,cols=20000"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":warp=64");
  for (const char* size : {"rows=0,cols=5", "rows=5,cols=0", "rows=3,cols=1", "rows=9,cols=33", "rows=5,cols=128",
                           "rows=3,cols=1025", "rows=2,cols=4099"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":" + size + ":backward");
  for (const char* type : {"f32", "f16", "bf16", "f64"}) test(std::string(type) + ":rows=6,cols=203:backward");
  // Equal terms: the roundings of their additions fall to one side.
  for (const char* backward : {"", ":backward"})
    for (const char* type : {"f32", "bf16"}) test(std::string(type) + ":rows=1,cols=4989:fill=rows" + backward);
  for (const char* type : {"f32", "bf16"})
    for (const char* more : {"place=offset", "place=padded", "place=strided", "place=reversed", "place=inplace",
                             "warp=64", "fill=nan", "fill=inf"})
      test(std::string(type) + ":rows=6,cols=203:" + more + ":backward");
  test("bf16:rows=2,cols=50257:variant=block_16k:backward");
  test("f32:rows=1,cols=140001:variant=strided:backward");
  // Along other axes: rows side by side, with an odd number and an even one, around a block's rows (32, 128, pairs) and
  // the elements that a thread keeps (16, 8; 128 and 64 of a row).
  for (const char* backward : {"", ":backward"})
    for (const char* type : {"f32", "f16", "bf16", "f64"}) {
      for (const char* rest : {"rows=0,cols=5,inner=3", "rows=2,cols=0,inner=3", "rows=2,cols=5,inner=0",
                               "rows=1,cols=1,inner=7", "rows=3,cols=19,inner=130", "rows=3,cols=19,inner=43",
                               "rows=70,cols=9,inner=1", "rows=2,cols=129,inner=66", "rows=2,cols=17,inner=64:warp=64",
                               "rows=2,cols=40,inner=34:place=inplace", "rows=2,cols=40,inner=34:place=padded",
                               "rows=2,cols=40,inner=34:place=offset", "rows=2,cols=40,inner=34:place=strided",
                               "rows=2,cols=40,inner=34:fill=nan", "rows=2,cols=40,inner=34:fill=inf"})
        test(std::string(type) + ":" + rest + ":axis=1" + backward);
      test(std::string(type) + ":rows=33,cols=70:axis=0" + backward);
    }
  for (const char* type : {"f32", "bf16"}) {
    for (const char* fill : {"overflow", "constant,-inf", "constant,inf", "constant,1e20", "denormal"})
      test(std::string(type) + ":rows=2,cols=40,inner=34:axis=-2:fill=" + fill);
    for (const char* backward : {"", ":backward"})
      test(std::string(type) + ":rows=1,cols=1100,inner=6:axis=1" + backward);
    for (const char* backward : {"", ":backward"})
      for (const char* size :
           {"rows=8,cols=19,inner=262144", "rows=1024,cols=64,inner=64", "rows=64,cols=1024,inner=196"})
        book.benches.push_back(op + ":" + type + ":" + size + ":axis=1" + backward);
  }
  // In double-float arithmetic: around what a warp and a block keep; any strides, values far apart.
  for (const char* rest : {"rows=0,cols=5",
                           "rows=5,cols=0",
                           "rows=3,cols=1",
                           "rows=9,cols=33",
                           "rows=5,cols=512",
                           "rows=5,cols=513",
                           "rows=2,cols=8192",
                           "rows=2,cols=8193",
                           "rows=1,cols=50257",
                           "rows=7,cols=130:warp=64",
                           "rows=2,cols=700:warp=64",
                           "rows=6,cols=203:place=offset",
                           "rows=6,cols=203:place=strided",
                           "rows=6,cols=203:place=reversed",
                           "rows=6,cols=203:place=inplace",
                           "rows=3,cols=40,inner=7:axis=1",
                           "rows=6,cols=200:fill=nan",
                           "rows=6,cols=200:fill=inf",
                           "rows=6,cols=200:fill=overflow",
                           "rows=6,cols=200:fill=denormal",
                           "rows=6,cols=200:fill=special",
                           "rows=6,cols=200:fill=constant,-inf",
                           "rows=6,cols=200:fill=constant,1e20",
                           "rows=1,cols=9000:fill=rows",
                           "rows=5,cols=600:fill=shifted,1e4",
                           "rows=2,cols=13:seed=3",
                           "rows=70,cols=2:fill=uniform",
                           "rows=400,cols=3:fill=scaled,15",
                           "rows=60,cols=9:fill=scaled,40"})
    test(std::string("f32:") + rest + ":accumulate=two_float");
  for (const char* size : {"rows=65536,cols=128", "rows=16384,cols=4096"})
    book.benches.push_back(op + ":f32:" + size + ":accumulate=two_float");
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"rows=65536,cols=128", "rows=16384,cols=4096", "rows=8192,cols=8192",
                             "rows=4096,cols=32768", "rows=4096,cols=50257"})
      book.benches.push_back(op + ":" + type + ":" + size + ":backward");
  for (const char* type : {"f32", "bf16"})
    for (const char* size :
         {"rows=65536,cols=128", "rows=65536,cols=1024", "rows=16384,cols=4096", "rows=8192,cols=8192",
          "rows=4096,cols=32768", "rows=1024,cols=131072", "rows=4096,cols=50257"})
      book.benches.push_back(op + ":" + type + ":" + size);
  return book;
}

}  // namespace ridge::softmax_detail
