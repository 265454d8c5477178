// The reductions' cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/reduce/families.hpp>
#include <ridge/reduce/oracle.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::reduce_detail {

// n elements, or a matrix of rows x cols, or `batch` such matrices.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  if (c.op == "trace" && (c.has("n") || c.has("batch")))
    return Status::invalid(c.op, "the case", "of n or batch", "of rows and cols");
  const bool line = c.has("n"), matrix = c.has("rows") || c.has("cols") || c.has("batch");
  if (line == matrix || (matrix && (!c.has("rows") || !c.has("cols"))))
    return Status::invalid(c.op, "the case", line ? "of n and other sizes" : "of incomplete sizes",
                           "of n, or of rows and cols, with batch or without");
  std::vector<std::int64_t> shape{c.dim("n")};
  if (matrix) shape = {c.dim("rows"), c.dim("cols")};
  if (matrix && c.has("batch")) shape.insert(shape.begin(), c.dim("batch"));
  return std::vector<TensorType>(c.op == "dot" ? 2 : 1, TensorType{c.dtype, shape});
}

inline bool adds(std::string_view op) { return op == "sum" || op == "mean" || op == "dot" || op == "trace"; }

// Numbers that overflow have one sign: with both signs, the order of additions would decide between inf and NaN.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (!adds(c.op) || c.options.text("fill") != "overflow" || !is_floating(c.dtype)) return;
  for (auto& tensor : in)
    for (double& x : tensor.values) x = std::fabs(x);
}

// Whether a row adds one element or block after another, where all others have shorter chains: it has tolerances of its
// own (case_tolerances).
inline bool adds_serially(const Config& c) { return textbook::is_atomic(c) || c.algorithm == Algorithm::block_serial; }

// The most additions between an element and a sum of n, by any variant that does not add serially and on any device:
// those of the single slice that one multiprocessor may take.
inline double most_additions(Reduce f, const Extent& e, int element_bytes) {
  std::int64_t most = 0;
  const Extent row{.rows = 1, .cols = e.cols};  // it has the fewest slices
  for (const Variant& variant : variants) {
    const Config c = config_of(variant.config, f);
    if (adds_serially(c)) continue;
    const bool columns = c.algorithm == Algorithm::columns || c.algorithm == Algorithm::shifted;
    const Extent& extent = columns ? e : row;
    const Partition& partition = partition_of(c);
    if (c.cut == Cut::whole && e.cols > partition.tiling(c, extent, element_bytes).longest_slice()) continue;
    const std::int64_t slices = partition.slices(c, extent, element_bytes, 1);
    most = std::max(most, partition.additions(c, extent, slices, element_bytes));
  }
  return static_cast<double>(most);
}

// The same of a row that adds serially, with one more for mean's division and for the warp of 64; `atomic` has neither.
inline double additions_of_serial(const Config& c, const Extent& e, int element_bytes) {
  const Partition& partition = partition_of(c);
  const std::int64_t slices = partition.slices(c, e, element_bytes, 1);
  const int beside = c.algorithm == Algorithm::atomic ? 0 : 2;
  return static_cast<double>(partition.additions(c, e, slices, element_bytes) + beside);
}

// Where a contiguous tensor's elements lie: element i of result r at rows[r] + cols[i].
struct Folded {
  std::vector<std::size_t> rows{0}, cols{0};
  std::size_t inner = 1;  // results side by side
};
inline Folded fold_axes(const check::Case& c, const std::vector<std::int64_t>& shape) {
  Folded f;
  if (c.op == "trace") {
    f.cols.clear();
    for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i)
      f.cols.push_back(static_cast<std::size_t>(i * (shape[1] + 1)));
    return f;
  }
  const int rank = static_cast<int>(shape.size());
  const AxisSet reduced =
      c.options.has("axis") ? *AxisSet::of(c.op, "axis", c.options, rank) : AxisSet{(1u << rank) - 1};
  const Layout layout = Layout::contiguous(shape);
  const auto extend = [](std::vector<std::size_t>& offsets, std::int64_t size, std::int64_t stride) {
    std::vector<std::size_t> more;
    for (const std::size_t offset : offsets)
      for (std::int64_t i = 0; i < size; ++i) more.push_back(offset + static_cast<std::size_t>(i * stride));
    offsets = std::move(more);
  };
  for (int axis = 0; axis < rank; ++axis) {
    extend(reduced.contains(axis) ? f.cols : f.rows, layout.shape[axis], layout.stride[axis]);
    f.inner = reduced.contains(axis) ? 1 : f.inner * static_cast<std::size_t>(layout.shape[axis]);
  }
  return f;
}

// Tolerance of float sums: an error of one roundoff of the accumulator per addition on an element's way, relative to
// the sum of |x| (one more for dot's product, one for mean's division, and one for the warp of 64), and the rounding to
// y's type. Whole numbers whose sums the accumulator holds are exact. Everything else is exact. With double-floats,
// what n additions round away is itself added with n roundings: the square of the relative error above (4: a dot's
// products have errors of their own, twice as many), and a mean's sum is rounded before it is divided.
// serial: the row whose tolerance is asked for, if it adds serially; null: that of all others.
inline std::vector<check::Expected> oracle_of(const check::Case& c, const std::vector<check::HostTensor>& in,
                                              const Config* serial) {
  check::Expected e;
  const Folded shape = fold_axes(c, in[0].type.shape);
  const std::size_t cols = shape.cols.size(), count = shape.rows.size();
  const bool adds = c.op == "sum" || c.op == "mean" || c.op == "dot" || c.op == "trace";
  const bool two_float = c.options.text("accumulate") == "two_float";
  const DType accumulator = c.dtype == f64 ? f64 : f32;
  const Extent extent{.rows = static_cast<std::int64_t>(count),
                      .cols = static_cast<std::int64_t>(cols),
                      .inner = static_cast<std::int64_t>(shape.inner)};
  const Reduce kernels = c.op == "dot" ? Reduce::dot : Reduce::sum;
  const int size = static_cast<int>(size_of(c.dtype));
  const double depth = serial ? additions_of_serial(*serial, extent, size) : most_additions(kernels, extent, size) + 3;
  for (std::size_t r = 0; r < count; ++r) {
    const auto row = [&](const check::HostTensor& t) {
      std::vector<double> elements(cols);
      for (std::size_t i = 0; i < cols; ++i) elements[i] = t.values[shape.rows[r] + shape.cols[i]];
      return elements;
    };
    const Oracle o = oracle(c.op == "trace" ? "sum" : c.op, !is_floating(c.dtype), row(in[0]),
                            in.size() > 1 ? row(in[1]) : std::vector<double>{});
    double value = o.value, tolerance = 0;
    if (adds && is_floating(c.dtype)) {
      const double eps = check::roundoff(accumulator), scale = c.op == "mean" ? 1.0 / static_cast<double>(cols) : 1.0;
      const bool exact = o.integral && o.magnitude * eps <= 1;
      // A dot's products may be below the normal numbers, where each loses up to half of the least one.
      const double underflow = c.op == "dot" ? static_cast<double>(cols) * check::rounding_error(accumulator, 0) : 0;
      const double relative = two_float ? 4 * depth * eps * depth * eps : depth * eps;
      if (!exact) tolerance = relative * o.magnitude * scale + underflow;
      if (two_float && c.op == "mean") tolerance += eps * std::fabs(value);
      // A sum that the accumulator cannot hold is infinite, and so is its mean.
      if (std::isfinite(value) && std::isinf(check::round_to(accumulator, value / scale)))
        value = std::copysign(INFINITY, value);
      if (std::isfinite(value) && std::isinf(check::round_to(c.dtype, value))) value = std::copysign(INFINITY, value);
      tolerance += check::rounding_error(c.dtype, value);
      if (exact && c.dtype == accumulator && c.op != "mean") tolerance = 0;
    } else if (c.op == "mean") {
      tolerance = 3 * check::rounding_error(f64, value);  // of the sum, of 64 bits of a longer one, of the quotient
    }
    e.value.push_back(value);
    e.tolerance.push_back(tolerance);
  }
  return {e};
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  return oracle_of(c, in, nullptr);
}

// Rows that add floats serially have as many roundings, which may all fall to one side. And a GPU's atomic addition
// treats an element below the normal numbers as 0, and flushes such a sum to 0 (reduce.hpp): each addition may lose
// both. Whole numbers have neither error.
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  const auto row = std::ranges::find(variants, variant, &Variant::name);
  if (row == std::end(variants) || !adds_serially(row->config) || !is_floating(c.dtype)) return;
  expected = oracle_of(c, in, &row->config);
  if (!textbook::is_atomic(row->config)) return;
  const Extent extent{.cols = static_cast<std::int64_t>(fold_axes(c, in[0].type.shape).cols.size())};
  const auto atomics = static_cast<double>(textbook::atomics(row->config, extent));
  for (double& tolerance : expected[0].tolerance)
    if (tolerance > 0) tolerance += 2 * atomics * 0x1p-126;
}

inline void add_two_float_cases(check::CaseBook& book, Reduce f) {
  const auto test = [&](std::string rest) { book.tests.push_back(book.op + ":" + rest + ":accumulate=two_float"); };
  for (const char* n : {"0", "1", "7", "129", "4097", "20011"}) test(std::string("f32:n=") + n);
  for (const char* fill : {"nan", "inf", "overflow", "denormal", "ints"}) test(std::string("f32:n=1500:fill=") + fill);
  for (const char* place : {"offset", "strided"}) test(std::string("f32:rows=23,cols=41:place=") + place);
  test("f32:n=9001:warp=64");
  if (f == Reduce::dot) return;
  for (const char* axis : {"0", "-1"})
    for (const char* shape : {"rows=70,cols=72", "rows=9,cols=133", "rows=3,cols=4099", "rows=1025,cols=8"})
      test(std::string("f32:") + shape + ":axis=" + axis);
}

// Sums of columns at pitches that are no multiple of 16 bytes. Sizes around a block's columns (124 of f32, 248 of
// 16-bit types; 252 and 504 if there are many), its levels (8, 16), its rows in flight (32, 64), and several slices.
inline void add_shifted_cases(check::CaseBook& book) {
  const auto test = [&](std::string rest) { book.tests.push_back(book.op + ":" + rest); };
  for (const char* type : {"f32", "bf16"}) {
    for (const char* shape : {"rows=7,cols=3", "rows=8,cols=123", "rows=9,cols=125", "rows=15,cols=247",
                              "rows=16,cols=249", "rows=17,cols=373", "rows=63,cols=31", "rows=65,cols=33",
                              "rows=1100,cols=9", "rows=9,cols=4097", "rows=33,cols=8201"})
      test(std::string(type) + ":" + shape + ":axis=0:fill=ints");
    for (const char* fill : {"nan", "inf", "overflow"})
      test(std::string(type) + ":rows=50,cols=13:axis=0:fill=" + fill);
    for (const char* place : {"offset", "padded"}) test(std::string(type) + ":rows=70,cols=131:axis=0:place=" + place);
    test(std::string(type) + ":batch=3,rows=37,cols=257:axis=1:fill=ints:place=offset");
  }
  test("f32:rows=131,cols=129:axis=0");
  test("f16:rows=67,cols=253:axis=0");
  test("bf16:rows=67,cols=251:axis=0:warp=64");
}

inline void add_trace_cases(check::CaseBook& book) {
  const auto test = [&](std::string rest) { book.tests.push_back("trace:" + rest); };
  for (const char* shape : {"rows=0,cols=5", "rows=5,cols=0", "rows=1,cols=1", "rows=1,cols=9", "rows=9,cols=1",
                            "rows=31,cols=40", "rows=33,cols=32", "rows=513,cols=511", "rows=1200,cols=1201"})
    test(std::string("f32:") + shape);
  for (const char* type : {"f16", "bf16", "f64", "i64", "i32", "i8", "u8"}) {
    test(std::string(type) + ":rows=70,cols=67:fill=ints");
    test(std::string(type) + ":rows=20,cols=30:fill=uniform");
  }
  for (const char* fill : {"nan", "inf", "overflow", "denormal"}) test(std::string("f32:rows=40,cols=50:fill=") + fill);
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    test(std::string("f32:rows=37,cols=45:fill=ints:place=") + place);
  test("f32:rows=1,cols=1:fill=denormal");
  test("f32:rows=64,cols=64:warp=64");
  test("f32:rows=1200,cols=1201:accumulate=two_float");
  for (const char* type : {"f32", "bf16"})
    for (const char* shape : {"rows=1024,cols=1024", "rows=16384,cols=16384"})
      book.benches.push_back(std::string("trace:") + type + ":" + shape);
}

inline check::CaseBook book_of(Reduce f) {
  const std::string op(name(f));
  check::CaseBook book{.op = op,
                       .keys = {},
                       .optional_keys = {"n", "rows", "cols", "batch"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tolerances = adds(op) ? case_tolerances : nullptr,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = adds(op)};
  if (f == Reduce::trace) {
    add_trace_cases(book);
    return book;
  }
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  if (f == Reduce::sum || f == Reduce::mean || f == Reduce::dot) add_two_float_cases(book, f);
  if (f == Reduce::sum) add_shifted_cases(book);
  const auto bench = [&](std::string rest) { book.benches.push_back(op + ":" + rest); };
  const bool dot = f == Reduce::dot, empty = dot || f == Reduce::sum || f == Reduce::mean;

  // mean shares sum's kernels, and min and argmin mirror max and argmax: for these, only what differs and a sample.
  const bool mirror = f == Reduce::mean || f == Reduce::min || f == Reduce::argmin;
  const std::vector<std::string> places{"offset", "padded", "strided", "reversed"};
  const std::vector<std::string> types{"f16", "bf16", "f64", "i32", "i64", "i8", "u8"};

  // Over everything. Around every tile: an access (4), 8 lanes (128), a warp (512), a block's one access (1,024) and
  // four (4,096), and several of those.
  if (empty) test("f32:n=0");
  for (const char* n : {"1", "5", "129", "4097"}) test("f32:n=" + std::string(n));
  if (!mirror) {
    for (const char* n :
         {"3", "4", "33", "127", "128", "511", "512", "513", "1023", "1024", "1025", "4095", "4096", "10007"})
      test("f32:n=" + std::string(n));
    test("f32:n=20011:fill=ints");
  }
  test("f32:n=9001:fill=ones:warp=64");
  for (const std::string& type : types) {
    if (empty) test(type + ":n=0");
    test(type + ":n=8193");
    test(type + ":n=1000:fill=overflow");
    if (mirror) continue;
    for (const char* n : {"1", "7", "9", "2049"}) test(type + ":n=" + n);
    test(type + ":n=16391:fill=ints");
    for (const char* place : {"offset", "strided"}) test(type + ":n=3001:fill=ints:place=" + place);
  }
  for (const char* type : {"f32", "bf16"})
    for (const char* fill : {"nan", "inf", "overflow", "denormal", "ints", "uniform"})
      if (!mirror || type[0] == 'f') test(std::string(type) + ":n=1500:fill=" + fill);
  if (f == Reduce::sum) {
    test("f32:rows=1,cols=1:fill=denormal");
    test("f32:n=20011:fill=constant,0.1");  // roundings that fall to one side
  }
  for (const char* type : {"f16", "f64"}) test(std::string(type) + ":n=700:fill=nan");
  for (const std::string& place : places) test("f32:rows=23,cols=41:place=" + place);
  test("f32:rows=33,cols=65:warp=64");

  // Integers whose sum leaves 64 bits, where their mean does not.
  if (f == Reduce::mean)
    for (const char* rest :
         {"i64:n=2:fill=constant,4.6e18", "i64:n=9001:fill=constant,-9.2e18",
          "i64:n=3001:fill=constant,9e18:place=strided", "i64:n=1000:fill=constant,9e18:warp=64",
          "i64:rows=9,cols=33:fill=constant,9e18:axis=-1", "i64:rows=5,cols=4099:fill=overflow:axis=-1",
          "i64:rows=70,cols=72:fill=constant,-9e18:axis=0", "i64:rows=700,cols=9:fill=overflow:axis=0",
          "i32:n=20011:fill=constant,-2147483648", "i32:rows=70,cols=131:fill=overflow:axis=0",
          "i32:rows=300,cols=17:fill=overflow:axis=-1"})
      test(rest);

  // Along the last axis.
  if (!dot) {
    const auto row = [&](std::string type, const char* shape, std::string rest = "") {
      test(type + ":" + shape + ":axis=-1" + rest);
    };
    row("f32", "rows=0,cols=5");
    row("f32", "rows=0,cols=0");
    if (empty) row("f32", "rows=7,cols=0");
    for (const char* shape : {"rows=9,cols=1", "rows=9,cols=127", "rows=2,cols=4097"}) row("f32", shape);
    if (!mirror)
      for (const char* shape : {"rows=1,cols=1", "rows=5,cols=31", "rows=9,cols=128", "rows=9,cols=129",
                                "rows=5,cols=513", "rows=3,cols=1025", "rows=3,cols=10007", "rows=40,cols=3"})
        row("f32", shape);
    row("f32", "rows=9,cols=130", ":warp=64");
    // Spans, only by their own variant, as others are slow here: rows of several iterations and blocks, with and
    // without bank conflicts to avoid, at any alignment of the first one.
    const std::string span = ":variant=row_span";
    if (!mirror)
      for (const std::string& type : types)
        for (const char* shape : {"rows=1030,cols=17", "rows=300,cols=32"}) row(type, shape, span);
    for (const char* type : {"f32", "bf16"})
      for (const char* shape : {"rows=2500,cols=3", "rows=131,cols=24", "rows=65,cols=1"}) row(type, shape, span);
    // Longer rows, of which a thread has a part: few rows with several lanes, and rows of one lane.
    if (!mirror)
      for (const std::string& type : types)
        for (const char* shape : {"rows=75,cols=67", "rows=9,cols=253"}) row(type, shape, span);
    for (const char* type : {"f32", "bf16", "i8"})
      for (const char* shape : {"rows=33,cols=129", "rows=7,cols=500"})
        row(type, shape, ":fill=ints:place=offset" + span);
    row("u8", "rows=9,cols=2047", span);
    row("i8", "rows=1100,cols=31", ":fill=ints" + span);
    row("bf16", "rows=50,cols=101", ":fill=nan" + span);
    row("f16", "rows=50,cols=64", ":fill=inf:warp=64" + span);
    row("u8", "rows=50,cols=50", ":fill=constant" + span);
    row("bf16", "rows=700,cols=7", ":fill=nan" + span);
    row("f32", "rows=700,cols=9", ":fill=inf:warp=64" + span);
    for (const char* type : {"f32", "bf16", "u8"}) row(type, "rows=21,cols=5", ":fill=ints");
    for (const char* type : {"f32", "bf16", "u8"})
      if (!mirror || type[0] != 'u') row(type, "rows=333,cols=5", ":fill=ints:place=offset" + span);
    row("f32", "rows=3,cols=9001", ":fill=ints:warp=64");
    for (const std::string& type : types) {
      row(type, "rows=11,cols=67", ":fill=uniform");
      if (!mirror) row(type, "rows=3,cols=4099", ":fill=ints");
    }
    for (const char* fill : {"nan", "inf", "overflow"})
      for (const char* type : {"f32", "bf16"}) row(type, "rows=13,cols=50", ":fill=" + std::string(fill));
    for (const std::string& place : places)
      for (const char* type : {"f32", "f16", "u8"})
        if (!mirror || type[0] == 'f') row(type, "rows=9,cols=133", ":fill=ints:place=" + place);
  }

  // Along several axes: side by side, apart, with results between them, behind them and before them.
  if (!dot && !(f == Reduce::argmax || f == Reduce::argmin)) {
    for (const std::string& type : types)
      for (const char* axes : {"0,2", "0,1", "-1,1"}) test(type + ":batch=5,rows=9,cols=40:fill=ints:axis=" + axes);
    for (const char* axes : {"0,2", "2,0,1", "0,1", "1,2"})
      test("f32:batch=3,rows=70,cols=67:axis=" + std::string(axes));
    for (const std::string& place : places) test("bf16:batch=7,rows=5,cols=33:fill=ints:axis=0,2:place=" + place);
    test("bf16:batch=6,rows=1,cols=130:axis=0,1:keepdims=1:warp=64");
    test("f32:batch=2,rows=3,cols=5:axis=0,2:keepdims=1:fill=nan");
    if (empty) test("f32:batch=0,rows=3,cols=5:axis=0,2");
    test("f32:batch=3,rows=0,cols=5:axis=0,2");
  }
  if (!dot)
    for (const char* rest : {"rows=3,cols=70", "rows=3,cols=70:axis=0", "rows=3,cols=70:axis=-1", "n=33"})
      test("f32:" + std::string(rest) + ":keepdims=1");

  // Along other axes. Sizes around an access (4, 8), a block's lanes (128, 256), its depth (8) and its elements in
  // flight (32, 64), and several slices; more rows than lanes, and few elements in many rows.
  if (!dot) {
    const auto column = [&](std::string type, const char* shape, std::string rest = "") {
      test(type + ":" + shape + ":axis=0" + rest);
    };
    if (empty) column("f32", "rows=0,cols=6");
    for (const char* shape : {"rows=1,cols=4", "rows=33,cols=132", "rows=700,cols=5"}) column("f32", shape);
    // One element of each row.
    for (const char* type : {"f32", "bf16"})
      for (const char* shape : {"rows=1,cols=4100", "rows=1,cols=1027"}) column(type, shape);
    test("f32:rows=1030,cols=1:axis=1");
    test("f32:batch=3,rows=1,cols=20:axis=1");
    column("f32", "rows=1,cols=520", ":place=offset");
    column("f32", "rows=1,cols=520", ":place=strided");
    test("f32:batch=5,rows=1,cols=64:axis=1:place=padded");
    test("f32:batch=3,rows=37,cols=20:axis=1");
    test("bf16:batch=5,rows=2,cols=24:axis=-2");
    if (!mirror) {
      for (const char* shape : {"rows=7,cols=1", "rows=8,cols=128", "rows=31,cols=127", "rows=32,cols=128",
                                "rows=65,cols=260", "rows=1025,cols=8", "rows=2051,cols=3", "rows=3,cols=1030"})
        column("f32", shape, ":fill=ints");
      for (const char* shape :
           {"batch=1,rows=5,cols=4", "batch=130,rows=3,cols=4", "batch=2,rows=9,cols=33", "batch=4,rows=130,cols=1"})
        test(std::string("f32:") + shape + ":axis=1:fill=ints");
      test("f32:batch=70,rows=5,cols=12:axis=0:fill=ints");
      column("bf16", "rows=260,cols=264");
      column("f16", "rows=67,cols=66");
    }
    column("f32", "rows=67,cols=36", ":warp=64");
    for (const std::string& type : types) {
      column(type, "rows=11,cols=72", ":fill=uniform");
      if (!mirror) column(type, "rows=520,cols=9", ":fill=ints");
    }
    for (const char* fill : {"nan", "inf", "overflow"})
      for (const char* type : {"f32", "bf16"}) column(type, "rows=50,cols=16", ":fill=" + std::string(fill));
    for (const std::string& place : places)
      for (const char* type : {"f32", "f16", "u8"})
        if (!mirror || type[0] == 'f') column(type, "rows=70,cols=72", ":fill=ints:place=" + place);
  }

  for (const char* type : {"f32", "bf16"}) {
    bench(std::string(type) + ":n=268435456");
    if (f == Reduce::sum)
      for (const char* shape :
           {"rows=65536,cols=128", "rows=65536,cols=1024", "rows=16384,cols=4096", "rows=4096,cols=32768",
            "rows=4096,cols=50257", "rows=8192,cols=8192", "rows=1024,cols=131072"})
        bench(std::string(type) + ":" + shape + ":axis=-1");
    if (f == Reduce::sum || f == Reduce::max)
      for (const char* shape :
           {"rows=16384,cols=4096", "rows=8192,cols=8192", "rows=4096,cols=50257", "rows=65536,cols=1024",
            "rows=4096,cols=32768", "rows=1024,cols=131072", "rows=65536,cols=128"})
        if (f == Reduce::sum || std::string_view(shape) == "rows=16384,cols=4096")
          bench(std::string(type) + ":" + shape + ":axis=0");
    if (f == Reduce::sum) bench(std::string(type) + ":batch=64,rows=1024,cols=1024:axis=1");
  }
  if (f == Reduce::sum || f == Reduce::dot) bench("f32:n=268435456:accumulate=two_float");
  if (f == Reduce::sum)
    for (const char* axis : {"0", "-1"})
      bench(std::string("f32:rows=16384,cols=4096:accumulate=two_float:axis=") + axis);
  if (f == Reduce::sum || f == Reduce::dot)
    for (const char* n : {"16384", "65536", "1048576"}) bench("f32:n=" + std::string(n));
  return book;
}

}  // namespace ridge::reduce_detail
