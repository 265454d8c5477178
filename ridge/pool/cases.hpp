// pooling's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/pool/oracle.hpp>
#include <ridge/pool/request.hpp>

namespace ridge::pool_detail {

inline Pool function_of(const check::Case& c) { return c.op == "max_pool2d" ? Pool::max : Pool::avg; }

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t n = c.dim("n"), channels = c.dim("c"), h = c.dim("h"), w = c.dim("w");
  if (c.options.text("layout") == "nhwc") return std::vector<TensorType>{{c.dtype, {n, h, w, channels}}};
  return std::vector<TensorType>{{c.dtype, {n, channels, h, w}}};
}

// Tolerance: the maximum is exact. A mean of k taps is a sum in float32, with fewer than k additions of one roundoff
// each per element, then a product and its correction (3), and one rounding into the dtype.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Pool f = function_of(c);
  const Request request = *request_of(f, c.operator_options());
  const PoolWindow& window = request.window;
  const bool nhwc = request.layout == PoolLayout::nhwc;
  const auto& shape = in[0].type.shape;
  const std::int64_t n = shape[0], channels = shape[nhwc ? 3 : 1], h = shape[nhwc ? 1 : 2], w = shape[nhwc ? 2 : 3];
  const auto [oh, ow] = window.outputs(h, w);
  const double taps = static_cast<double>(window.size.h * window.size.w), u = check::roundoff(f32);
  check::Expected e;
  const auto one = [&](std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j) {
    const auto at = [&](std::int64_t y, std::int64_t x) {
      const std::int64_t index =
          nhwc ? ((image * h + y) * w + x) * channels + channel : ((image * channels + channel) * h + y) * w + x;
      return in[0].values[static_cast<std::size_t>(index)];
    };
    const WindowOracle o(at, h, w, i * window.stride.h - window.pad.h, j * window.stride.w - window.pad.w,
                         window.size.h, window.size.w, window.dilation.h, window.dilation.w);
    if (f == Pool::max) {
      e.value.push_back(o.greatest);
      e.tolerance.push_back(0);
      return;
    }
    const double count = window.count_include_pad ? taps : static_cast<double>(o.inside), mean = o.sum / count;
    e.value.push_back(mean);
    e.tolerance.push_back(std::isfinite(mean)
                              ? (taps + 3) * u * o.magnitude / count + check::rounding_error(f32, mean) +
                                    check::rounding_error(c.dtype, mean)
                              : 0);
  };
  for (std::int64_t image = 0; image < n; ++image)
    for (std::int64_t a = 0; a < (nhwc ? oh : channels); ++a)
      for (std::int64_t b = 0; b < (nhwc ? ow : oh); ++b)
        for (std::int64_t d = 0; d < (nhwc ? channels : ow); ++d) nhwc ? one(image, d, a, b) : one(image, a, b, d);
  return {e};
}

inline check::CaseBook book_of(Pool f) {
  const std::string op(name(f));
  check::CaseBook book{.op = op,
                       .keys = {"n", "c", "h", "w", "r"},
                       .optional_keys = {"s"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = nullptr,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = op == "avg_pool2d"};
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const std::vector<std::string> types{"f32", "f16", "bf16"};
  // The windows that variants are compiled for, with sizes around their tiles (4 or 8 columns, 2 or 4 rows).
  for (const char* window : {"r=2:stride=2", "r=3:stride=1:pad=1", "r=3:stride=2:pad=1"})
    for (const std::string& type : types) {
      for (const char* size : {"n=2,c=3,h=8,w=16", "n=1,c=2,h=9,w=17", "n=1,c=2,h=7,w=15", "n=2,c=1,h=4,w=4",
                               "n=1,c=1,h=2,w=2", "n=1,c=1,h=3,w=40", "n=1,c=5,h=33,w=8"})
        test(type + ":" + size + "," + window);
      for (const char* size : {"n=2,c=8,h=5,w=6", "n=1,c=16,h=4,w=3", "n=1,c=3,h=6,w=5"})
        test(type + ":" + size + "," + window + ":layout=nhwc");
      for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-3"})
        test(type + ":n=1,c=8,h=6,w=8," + window + ":fill=" + fill);
      for (const char* place : {"offset", "padded", "strided", "reversed"}) {
        test(type + ":n=2,c=3,h=6,w=8," + window + ":place=" + place);
        if (type != "f16") test(type + ":n=2,c=8,h=4,w=5," + window + ":layout=nhwc:place=" + place);
      }
    }
  // Any window: rectangles, uneven strides and padding, larger than a tile, larger than the input.
  for (const char* rest :
       {"n=1,c=2,h=7,w=9,r=1", "n=2,c=2,h=9,w=7,r=3,s=2:stride=2,1:pad=1,0", "n=1,c=3,h=40,w=70,r=5:stride=1:pad=2",
        "n=1,c=1,h=20,w=20,r=13:pad=6", "n=1,c=2,h=35,w=33,r=3:stride=3", "n=1,c=2,h=30,w=31,r=2:stride=7,5:pad=1",
        "n=1,c=4,h=7,w=7,r=7", "n=1,c=4,h=1,w=1,r=3:pad=1", "n=1,c=1,h=1,w=100,r=1,s=9:pad=0,4",
        "n=1,c=8,h=6,w=7,r=2,s=5:pad=1,3:layout=nhwc", "n=1,c=8,h=8,w=8,r=3:pad=1:layout=nhwc",
        "n=2,c=8,h=9,w=3,r=3:pad=1:layout=nhwc", "n=1,c=16,h=17,w=1,r=3:pad=1:layout=nhwc",
        "n=1,c=8,h=18,w=9,r=3:stride=2:pad=1:layout=nhwc", "n=1,c=8,h=9,w=9,r=3:stride=3:layout=nhwc"})
    for (const std::string& type : types) test(type + ":" + rest);
  test("f32:n=1,c=8,h=6,w=8,r=3:pad=1:warp=64");
  // Nothing to write, or nothing to read.
  for (const char* rest : {"n=0,c=3,h=8,w=8,r=3", "n=2,c=0,h=8,w=8,r=3", "n=1,c=2,h=0,w=6,r=3:pad=2",
                           "n=1,c=2,h=6,w=0,r=3:stride=2:pad=2", "n=1,c=8,h=0,w=6,r=3:pad=2:layout=nhwc"})
    test(std::string("f32:") + rest);
  if (f == Pool::max) {
    for (const std::string& type : types) {
      test(type + ":n=1,c=8,h=6,w=8,r=3:stride=2:pad=1:fill=overflow");
      test(type + ":n=1,c=2,h=20,w=40,r=3,s=2:dilation=2,3:pad=2");
      test(type + ":n=1,c=8,h=9,w=9,r=3:dilation=2:layout=nhwc:fill=nan");
      test(type + ":n=1,c=1,h=1,w=1,r=2:dilation=4:pad=2");  // a window of nothing but padding
    }
  } else {
    for (const std::string& type : types) {
      for (const char* rest : {"n=1,c=2,h=8,w=16,r=3:pad=1", "n=1,c=2,h=9,w=15,r=3:stride=2:pad=1",
                               "n=1,c=2,h=9,w=13,r=5:pad=4,2", "n=2,c=8,h=5,w=6,r=3:pad=1:layout=nhwc",
                               "n=1,c=8,h=5,w=6,r=4:pad=3:layout=nhwc", "n=1,c=1,h=0,w=4,r=2:pad=1"})
        test(type + ":" + rest + ":count_include_pad=0");
    }
    test("f16:n=1,c=8,h=6,w=8,r=3:stride=2:pad=1:fill=overflow");
  }
  for (const char* type : {"f32", "bf16"})
    for (const char* rest :
         {"n=32,c=64,h=112,w=112,r=3:stride=1:pad=1", "n=32,c=64,h=112,w=112,r=3:stride=2:pad=1",
          "n=32,c=64,h=112,w=112,r=2:stride=2", "n=32,c=64,h=112,w=112,r=3:stride=1:pad=1:layout=nhwc",
          "n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc", "n=32,c=256,h=14,w=14,r=5:pad=2"})
      book.benches.push_back(op + ":" + type + ":" + rest);
  return book;
}

}  // namespace ridge::pool_detail
