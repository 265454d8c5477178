// rope's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/rope/rotation_cases.hpp>
#include <ridge/rope/sweep.hpp>

#include <cmath>

namespace ridge::rope_detail {

// positions: 1 gives [s] in i32, 2 [b, s] in i64; tables=P gives cos and sin for P positions, in f32, or with narrow=1
// in x's type. Without b, x has 3 axes.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t b = c.dim("b"), s = c.dim("s"), h = c.dim("h"), d = c.dim("d");
  if (c.dim("positions", 0) > 2)
    return Status::invalid(c.op, "case size 'positions'", std::to_string(c.dim("positions")), "at most 2");
  std::vector<TensorType> types{{c.dtype, c.has("b") ? std::vector{b, s, h, d} : std::vector{s, h, d}}};
  if (c.dim("positions", 0) == 1) types.push_back({i32, {s}});
  if (c.dim("positions", 0) == 2) types.push_back({i64, {b, s}});
  if (c.has("tables"))
    types.insert(types.end(), 2, {c.dim("narrow", 0) ? c.dtype : f32, {c.dim("tables"), pairs_of(c)}});
  return types;
}

// Positions are spread far to both sides; with tables, most are within them.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (c.dim("positions", 0) == 0) return;
  std::int64_t i = 0;
  for (double& v : in[1].values) {
    v = c.has("tables") ? static_cast<double>((i * 7) % (c.dim("tables") + 2) - 1) : std::floor(v * 3001) - 1000;
    ++i;
  }
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const std::int64_t b = c.dim("b"), s = c.dim("s"), h = c.dim("h"), d = c.dim("d");
  const RotationOfCase rotation(c, in, c.dim("positions", 0) ? 2 : 1);
  check::Expected e{in[0].values, std::vector<double>(in[0].values.size(), 0.0)};
  for (std::int64_t token = 0; token < b * s; ++token) {
    double position = static_cast<double>(token % s);
    if (c.dim("positions", 0) == 1) position = in[1].values[token % s];
    if (c.dim("positions", 0) == 2) position = in[1].values[token];
    for (std::int64_t head = 0; head < h; ++head) {
      const std::int64_t start = (token * h + head) * d;
      rotation.rotate(in[0].values.data() + start, position, e.value.data() + start, e.tolerance.data() + start);
    }
  }
  return {e};
}

inline check::CaseBook book() {
  const std::string op = "rope";
  check::CaseBook book{.op = op,
                       .keys = {"s", "h", "d"},
                       .optional_keys = {"b", "positions", "tables", "narrow"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = true,
                       .draw = draw};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* style : {":style=neox", ":style=gptj"}) {
      const auto each = [&](const std::string& rest) { test(std::string(type) + ":" + rest + style); };
      // Heads around the four of a thread; halves that are whole vectors, and others.
      for (const char* size :
           {"b=2,s=5,h=3,d=16", "b=1,s=3,h=4,d=64", "b=2,s=2,h=9,d=32", "s=7,h=1,d=8", "s=4,h=2,d=6", "b=1,s=1,h=1,d=2",
            "b=3,s=1,h=5,d=128", "b=1,s=300,h=2,d=16", "b=0,s=3,h=2,d=8", "b=2,s=0,h=2,d=8", "s=3,h=0,d=8",
            "s=3,h=2,d=0", "b=2,s=3,h=5,d=40", "s=5,h=4,d=20", "s=2,h=3,d=12"})
        each(size);
      for (const char* rest :
           {"b=2,s=3,h=5,d=48:rotary_dim=32", "s=3,h=2,d=24:rotary_dim=16", "s=3,h=2,d=10:rotary_dim=4",
            "b=2,s=3,h=5,d=52:rotary_dim=40", "s=5,h=4,d=32:base=500000", "b=2,s=6,h=4,d=32,positions=1",
            "b=2,s=6,h=4,d=32,positions=2", "b=2,s=6,h=4,d=32,tables=9", "b=2,s=6,h=5,d=32,positions=2,tables=5",
            "b=2,s=6,h=3,d=48,tables=9,narrow=1:rotary_dim=32", "b=1,s=2,h=1,d=2:rotary_dim=0",
            "b=2,s=5,h=5,d=32:warp=64"})
        each(rest);
      for (const char* place : {"offset", "padded", "strided", "reversed", "inplace"}) {
        each("b=2,s=3,h=5,d=32:place=" + std::string(place));
        each("b=2,s=3,h=3,d=40:place=" + std::string(place));
        each("s=3,h=5,d=48,positions=1:rotary_dim=32:place=" + std::string(place));
      }
      for (const char* fill : {"nan", "denormal", "ones"}) each("b=1,s=9,h=4,d=32:fill=" + std::string(fill));
    }
  test("f16:b=1,s=9,h=4,d=32:fill=overflow");
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"b=8,s=4096,h=32,d=128", "b=8,s=4096,h=32,d=64", "b=256,s=1,h=32,d=128,positions=2"})
      for (const char* style : {"", ":style=gptj"}) book.benches.push_back(op + ":" + type + ":" + size + style);
  return book;
}

}  // namespace ridge::rope_detail
