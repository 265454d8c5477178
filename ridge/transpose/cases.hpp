// The cases of transpose and permute: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/transpose/oracle.hpp>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>

namespace ridge::transpose_detail {

// transpose: rows x cols, or a batch of them. permute: d0 x d1 x ...
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  std::vector<std::int64_t> shape;
  if (c.op == "transpose") {
    if (c.has("batch")) shape.push_back(c.dim("batch"));
    shape.insert(shape.end(), {c.dim("rows"), c.dim("cols")});
  } else {
    for (std::size_t axis = 0; axis < c.dims.size(); ++axis) {
      const std::string key = "d" + std::to_string(axis);
      if (!c.has(key)) return Status::invalid(c.op, "the case", "without " + key, "of d0, d1 and so on");
      shape.push_back(c.dim(key));
    }
  }
  return std::vector<TensorType>{{c.dtype, shape}};
}

// Bits are moved: the tolerance is 0.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const std::size_t rank = in[0].type.shape.size();
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.op == "transpose") {
    std::swap(axes[rank - 1], axes[rank - 2]);
  } else if (c.options.has("axes")) {  // valid, as the plan accepted them; negative ones count from the end
    axes.clear();
    std::istringstream text{std::string(c.options.text("axes"))};
    for (std::string axis; std::getline(text, axis, ',');) {
      const int counted = std::stoi(axis);
      axes.push_back(counted < 0 ? counted + static_cast<int>(rank) : counted);
    }
  } else {
    std::reverse(axes.begin(), axes.end());
  }
  check::Expected e;
  e.value = permuted(in[0].values, in[0].type.shape, axes);
  e.tolerance.assign(e.value.size(), 0);
  return {e};
}

inline check::CaseBook empty_book(std::string op, std::vector<std::string> keys, std::vector<std::string> optional) {
  return {.op = std::move(op),
          .keys = std::move(keys),
          .optional_keys = std::move(optional),
          .inputs = case_inputs,
          .oracle = case_oracle,
          .adjust = nullptr,
          .tests = {},
          .benches = {}};
}

inline check::CaseBook transpose_book() {
  check::CaseBook book = empty_book("transpose", {"rows", "cols"}, {"batch"});
  const auto test = [&](std::string type, std::string rest) { book.tests.push_back("transpose:" + type + ":" + rest); };
  // Empty, one, a row, a column, and around the tiles: 32, 64 and 128 f32; 64, 128 and 256 bf16; 128 and more u8.
  for (const char* size :
       {"rows=0,cols=5", "rows=5,cols=0", "rows=1,cols=1", "rows=1,cols=37", "rows=37,cols=1", "rows=31,cols=33",
        "rows=32,cols=32", "rows=64,cols=128", "rows=63,cols=65", "rows=65,cols=64", "rows=67,cols=131"})
    for (const char* type : {"f32", "bf16", "u8", "f64"}) test(type, size);
  for (const char* size :
       {"rows=128,cols=64", "rows=127,cols=129", "rows=129,cols=127", "rows=136,cols=264", "rows=257,cols=255"})
    for (const char* type : {"bf16", "u8"}) test(type, size);
  test("u8", "rows=272,cols=144");
  // Rows of x that start on multiples of 8 bytes, around tiles of 128 rows and 256 columns.
  for (const char* size : {"rows=16,cols=8", "rows=128,cols=264", "rows=144,cols=248", "batch=3,rows=160,cols=520"})
    test("u8", size);
  // Around the rows of shifted tiles, and tiles with neighbours on all sides.
  for (const char* size : {"rows=112,cols=128", "rows=113,cols=129", "rows=225,cols=300", "rows=241,cols=401",
                           "rows=304,cols=401", "batch=2,rows=250,cols=277"})
    for (const char* type : {"bf16", "u8"}) test(type, size);
  test("u8", "rows=250,cols=203");
  test("f32", "rows=516,cols=100");  // more than one strip of tiles
  test("f32", "rows=1100,cols=36");
  // Few columns or rows, around a stage's length, with and without shifted runs.
  for (const char* size : {"rows=1000,cols=3", "rows=1024,cols=4", "rows=1025,cols=4", "rows=701,cols=2",
                           "rows=331,cols=17", "rows=160,cols=32", "rows=3,cols=1000", "rows=4,cols=1024",
                           "rows=4,cols=1025", "rows=2,cols=701", "rows=17,cols=331", "rows=32,cols=160"})
    for (const char* type : {"f32", "bf16", "u8"}) test(type, size);
  test("u8", "rows=4500,cols=4");
  test("u8", "rows=4,cols=4500");
  // Around a chunk of rows, and around the rows of 31 lanes and of a block of them.
  for (const char* size : {"rows=1,cols=4", "rows=15,cols=3", "rows=16,cols=2", "rows=17,cols=8", "rows=33,cols=3",
                           "rows=497,cols=4", "rows=512,cols=3", "rows=1999,cols=2", "batch=3,rows=129,cols=8"})
    for (const char* type : {"f32", "bf16", "u8", "f64"}) test(type, size);
  test("f64", "rows=301,cols=3");
  test("f64", "rows=3,cols=301");
  // A batch, and one of shifted matrices.
  for (const char* size : {"batch=3,rows=40,cols=24", "batch=3,rows=33,cols=35", "batch=5,rows=70,cols=3",
                           "batch=5,rows=3,cols=70", "batch=0,rows=3,cols=4", "batch=7,rows=1,cols=5"})
    for (const char* type : {"f32", "bf16", "u8"}) test(type, size);
  // Many small matrices: whole chunks, less than one, and one fewer or more than a span has.
  // Other variants launch a block for each.
  for (const char* size : {"batch=257,rows=8,cols=8", "batch=100,rows=3,cols=5", "batch=61,rows=16,cols=32",
                           "batch=5,rows=33,cols=33", "batch=90,rows=32,cols=4", "batch=300,rows=2,cols=2"})
    for (const char* type : {"f32", "bf16", "u8", "f64"})
      for (const char* variant : {":variant=span", ":variant=span_4k"})
        if (std::string_view(variant) == ":variant=span" || std::string_view(size) != "batch=5,rows=33,cols=33")
          test(type, std::string(size) + variant);
  for (const char* type : {"f32", "u8"}) test(type, "batch=40,rows=5,cols=7");
  for (const char* type : {"f16", "i64", "i32", "i8", "bool", "f8e4m3", "f8e5m2"})
    test(type, "rows=48,cols=80:fill=uniform");
  for (const char* fill : {"nan", "inf", "denormal", "overflow"})
    test("f32", std::string("rows=33,cols=20:fill=") + fill);
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* type : {"f32", "bf16", "u8", "f64"}) {
      test(type, std::string("rows=37,cols=43:place=") + place);
      test(type, std::string("rows=64,cols=96:place=") + place);
      test(type, std::string("batch=2,rows=150,cols=4:place=") + place);
      test(type, std::string("batch=2,rows=4,cols=150:place=") + place);
    }
  for (const char* type : {"f32", "bf16", "u8"})
    for (const char* size : {"rows=37,cols=43", "rows=128,cols=144", "rows=300,cols=4", "rows=4,cols=300"})
      test(type, std::string(size) + ":warp=64");
  for (const char* type : {"f32", "bf16", "u8"})
    for (const char* size :
         {"rows=16384,cols=16384", "rows=8192,cols=8200", "rows=1000,cols=100003", "rows=1048561,cols=4",
          "rows=4,cols=1048561", "rows=8191,cols=8191", "batch=64,rows=1024,cols=1024"})
      book.benches.push_back(std::string("transpose:") + type + ":" + size);
  return book;
}

inline check::CaseBook permute_book() {
  check::CaseBook book = empty_book("permute", {"d0"}, {"d1", "d2", "d3", "d4", "d5", "d6", "d7"});
  const auto test = [&](std::string rest) { book.tests.push_back("permute:" + rest); };
  for (const char* type : {"f32", "bf16", "u8", "f64"})
    for (const char* rest :
         {"d0=37", "d0=0,d1=5", "d0=6,d1=7:axes=0,1", "d0=40,d1=24", "d0=6,d1=7,d2=8:axes=2,0,1",
          "d0=6,d1=7,d2=8:axes=1,2,0", "d0=6,d1=7,d2=8:axes=2,1,0", "d0=6,d1=7,d2=8:axes=1,0,2",
          "d0=6,d1=7,d2=8:axes=0,2,1", "d0=6,d1=7,d2=1:axes=1,0,2", "d0=9,d1=40,d2=2:axes=1,0,2",
          "d0=9,d1=40,d2=3:axes=1,0,2", "d0=2,d1=9,d2=3,d3=16:axes=0,2,1,3", "d0=2,d1=9,d2=3,d3=16:axes=0,-1,1,2",
          "d0=2,d1=3,d2=5:axes=1,-0,02", "d0=2,d1=3,d2=5,d3=7:axes=3,1,2,0"})
      test(std::string(type) + ":" + rest);
  for (const char* axes : {"7,2,5,0,3,6,1,4", "1,0,3,2,5,4,7,6", "2,0,4,6,1,3,5,7"})
    test(std::string("f32:d0=3,d1=2,d2=2,d3=3,d4=2,d5=3,d6=2,d7=2:axes=") + axes);
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* type : {"f32", "bf16", "u8"})
      for (const char* rest : {"d0=5,d1=36,d2=20:axes=2,0,1", "d0=5,d1=6,d2=16:axes=1,0,2", "d0=640:axes=0"})
        test(std::string(type) + ":" + rest + ":place=" + place);
  test("bool:d0=0,d1=1,d2=1:place=scattered:seed=49021");  // no elements, at any address
  test("f32:d0=6,d1=7,d2=8:axes=1,0,2:warp=64");
  test("f32:d0=6,d1=7,d2=8:axes=2,1,0:warp=64");
  book.benches = {"permute:bf16:d0=8,d1=4096,d2=32,d3=128:axes=0,2,1,3",  // heads before the sequence
                  "permute:bf16:d0=64,d1=128,d2=56,d3=56:axes=0,2,3,1",   // channels last
                  "permute:bf16:d0=64,d1=56,d2=56,d3=128:axes=0,3,1,2",   // channels first
                  "permute:u8:d0=64,d1=1080,d2=1920,d3=3:axes=0,3,1,2",   // pixels into planes
                  "permute:f32:d0=512,d1=512,d2=512:axes=2,1,0",
                  "permute:f32:d0=512,d1=512,d2=512:axes=1,0,2",
                  "permute:f32:d0=32,d1=32,d2=32,d3=32,d4=32:axes=4,2,0,3,1"};
  return book;
}

}  // namespace ridge::transpose_detail
