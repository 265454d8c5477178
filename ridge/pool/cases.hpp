// pooling's cases: what tests, benchmarks and the command line run.
#pragma once
#include <ridge/check/case_book.hpp>
#include <ridge/pool/oracle.hpp>
#include <ridge/pool/request.hpp>

#include <algorithm>
#include <cmath>

namespace ridge::pool_detail {

inline Pool function_of(const check::Case& c) {
  if (c.op == name(Pool::max)) return Pool::max;
  return c.op == name(Pool::avg) ? Pool::avg : Pool::adaptive_avg;
}

// x; of a gradient dy, and for the maximum x and y as well.
inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  const std::int64_t n = c.dim("n"), channels = c.dim("c"), h = c.dim("h"), w = c.dim("w");
  auto backward = c.options.flag(c.op, "backward");
  if (!backward) return backward.error();
  const bool nhwc = c.options.text("layout") == "nhwc";
  const TensorType x{c.dtype, nhwc ? std::vector{n, h, w, channels} : std::vector{n, channels, h, w}};
  if (!*backward) return std::vector<TensorType>{x};
  auto request = request_of(function_of(c), c.operator_options());
  if (!request) return request.error();
  auto shape = pool_shape(function_of(c), request->window, request->layout, Layout::contiguous(x.shape));
  if (!shape) return shape.error();
  const TensorType y{c.dtype, *shape};
  if (function_of(c) == Pool::max) return std::vector<TensorType>{y, x, y};
  return std::vector<TensorType>{y};
}

// A window of the case's plane, by definition: its first row and column, its taps, and the mean's divisor.
struct WindowCase {
  std::int64_t top = 0, left = 0, r = 0, s = 0;
  double count = 0;
};
inline WindowCase window_case(Pool f, const PoolWindow& window, std::int64_t h, std::int64_t w, std::int64_t i,
                              std::int64_t j) {
  if (f == Pool::adaptive_avg) {
    const AdaptiveOracle rows(i, h, window.size.h), cols(j, w, window.size.w);
    const std::int64_t r = rows.end - rows.begin, s = cols.end - cols.begin;
    return {rows.begin, cols.begin, r, s, static_cast<double>(r * s)};
  }
  const PoolPad pad = window.count_include_pad ? window.pad : PoolPad{};
  WindowCase of{i * window.stride.h - window.pad.top, j * window.stride.w - window.pad.left, window.size.h,
                window.size.w};
  of.count = static_cast<double>(taps_within(of.top, of.r, pad.top, h, pad.bottom) *
                                 taps_within(of.left, of.s, pad.left, w, pad.right));
  return of;
}

// The planes of a case, by definition: element (image, channel, i, j) of x or y, and all windows of all planes.
struct PlanesCase {
  Pool function;
  Request request;
  std::int64_t n = 0, channels = 0, h = 0, w = 0, oh = 0, ow = 0;

  explicit PlanesCase(const check::Case& c)
      : function(function_of(c)),
        request(*request_of(function, c.operator_options())),
        n(c.dim("n")),
        channels(c.dim("c")),
        h(c.dim("h")),
        w(c.dim("w")) {
    const PoolPair outputs = function == Pool::adaptive_avg ? request.window.size : request.window.outputs(h, w);
    oh = outputs.h;
    ow = outputs.w;
  }
  std::size_t index(std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j, std::int64_t rows,
                    std::int64_t cols) const {
    const std::int64_t at = request.layout == PoolLayout::nhwc ? ((image * rows + i) * cols + j) * channels + channel
                                                               : ((image * channels + channel) * rows + i) * cols + j;
    return static_cast<std::size_t>(at);
  }
  std::size_t of_x(std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j) const {
    return index(image, channel, i, j, h, w);
  }
  // Calls f(index of y, image, channel, window) for each window, of x given.
  template <class F> void for_each_window(F&& f) const {
    for (std::int64_t image = 0; image < n; ++image)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        for (std::int64_t i = 0; i < oh; ++i)
          for (std::int64_t j = 0; j < ow; ++j)
            f(index(image, channel, i, j, oh, ow), image, channel, window_case(function, request.window, h, w, i, j));
  }
  // A window's values, of these x.
  WindowOracle oracle(const std::vector<double>& x, std::int64_t image, std::int64_t channel,
                      const WindowCase& of) const {
    const auto at = [&](std::int64_t i, std::int64_t j) { return x[of_x(image, channel, i, j)]; };
    const PoolPair& dilation = request.window.dilation;
    return WindowOracle(at, h, w, of.top, of.left, of.r, of.s, dilation.h, dilation.w);
  }
};

inline bool is_backward(const check::Case& c) { return *c.options.flag(c.op, "backward"); }

// The maximum's gradient is given the forward result of its x.
inline void case_adjust(const check::Case& c, std::vector<check::HostTensor>& in) {
  if (!is_backward(c) || function_of(c) != Pool::max) return;
  const PlanesCase planes(c);
  planes.for_each_window([&](std::size_t y, std::int64_t image, std::int64_t channel, const WindowCase& of) {
    in[2].values[y] = planes.oracle(in[1].values, image, channel, of).greatest;
  });
}

// Each window gives to its inputs. Tolerance: of k windows that give to an input, a sum in float32 with k - 1 additions
// of one roundoff each; a mean's share of a window's gradient is a quotient and a product (4, and what underflows).
// Then one rounding into the dtype. The maximum of one window alone gets that one's gradient as it is.
inline std::vector<check::Expected> gradient_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const PlanesCase planes(c);
  const auto elements = static_cast<std::size_t>(planes.n * planes.channels * planes.h * planes.w);
  std::vector<double> sum(elements), magnitude(elements), terms(elements);
  const auto give = [&](std::size_t to, double gradient) {
    sum[to] += gradient;
    magnitude[to] += std::fabs(gradient);
    terms[to] += 1;
  };
  const bool max = planes.function == Pool::max;
  planes.for_each_window([&](std::size_t y, std::int64_t image, std::int64_t channel, const WindowCase& of) {
    const double dy = in[0].values[y];
    if (max) {
      const WindowOracle o = planes.oracle(in[1].values, image, channel, of);
      if (o.row >= 0) give(planes.of_x(image, channel, o.row, o.col), dy);
      return;
    }
    for (std::int64_t i = std::max<std::int64_t>(of.top, 0); i < std::min(of.top + of.r, planes.h); ++i)
      for (std::int64_t j = std::max<std::int64_t>(of.left, 0); j < std::min(of.left + of.s, planes.w); ++j)
        give(planes.of_x(image, channel, i, j), dy / of.count);
  });
  check::Expected e;
  const double u = check::roundoff(f32);
  for (std::size_t i = 0; i < elements; ++i) {
    const double roundings = max ? std::max(terms[i] - 1, 0.0) : terms[i] + 4;
    const double error = roundings * u * magnitude[i] + (max ? 0 : terms[i] * 0x1p-149);
    e.value.push_back(sum[i]);
    e.tolerance.push_back(
        std::isfinite(sum[i]) && roundings > 0 ? error + check::rounding_error(c.dtype, std::fabs(sum[i]) + error) : 0);
  }
  return {e};
}

// Tolerance: the maximum is exact. A mean of k taps is a sum in float32, with fewer than k additions of one roundoff
// each per element, then a product and its correction (3), and one rounding into the dtype.
inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  if (is_backward(c)) return gradient_oracle(c, in);
  const PlanesCase planes(c);
  const auto elements = static_cast<std::size_t>(planes.n * planes.channels * planes.oh * planes.ow);
  const double u = check::roundoff(f32);
  check::Expected e{std::vector<double>(elements), std::vector<double>(elements)};
  planes.for_each_window([&](std::size_t y, std::int64_t image, std::int64_t channel, const WindowCase& of) {
    const WindowOracle o = planes.oracle(in[0].values, image, channel, of);
    if (planes.function == Pool::max) {
      e.value[y] = o.greatest;
      return;
    }
    const double mean = o.sum / of.count, taps = static_cast<double>(of.r * of.s);
    e.value[y] = mean;
    if (std::isfinite(mean))
      e.tolerance[y] = (taps + 3) * u * o.magnitude / of.count + check::rounding_error(f32, mean) +
                       check::rounding_error(c.dtype, mean);
  });
  return {e};
}

// Gradients: of the windows that rows are compiled for, around their tiles, and of others; with ties in every window,
// NaN and infinities; of inputs in no window, and of windows without inputs.
inline void add_gradient_cases(check::CaseBook& book, Pool f) {
  const auto test = [&](const std::string& rest) { book.tests.push_back(book.op + ":" + rest + ":backward"); };
  const std::vector<std::string> types{"f32", "f16", "bf16"};
  const bool adaptive = f == Pool::adaptive_avg;
  if (adaptive) {
    for (const std::string& type : types) {
      for (const char* rest : {"n=2,c=3,h=8,w=16:size=4,8", "n=1,c=3,h=10,w=13:size=7", "n=1,c=2,h=10,w=16:size=3,5",
                               "n=1,c=2,h=3,w=4:size=7,9", "n=2,c=3,h=7,w=7:size=1", "n=2,c=3,h=6,w=8:size=1",
                               "n=2,c=8,h=7,w=7:size=1:layout=nhwc", "n=1,c=16,h=10,w=9:size=7,4:layout=nhwc",
                               "n=1,c=8,h=8,w=6:size=4,3:layout=nhwc", "n=1,c=5,h=7,w=6:size=3:layout=nhwc"})
        test(type + ":" + rest);
      for (const char* place : {"offset", "padded", "strided", "reversed"})
        for (const char* rest : {"n=2,c=3,h=6,w=8:size=3", "n=2,c=8,h=4,w=5:size=3,2:layout=nhwc"})
          test(type + ":" + rest + ":place=" + place);
    }
    for (const char* rest : {"n=1,c=2,h=6,w=8:size=4,3:fill=nan", "n=1,c=8,h=6,w=8:size=1:layout=nhwc:fill=inf",
                             "n=1,c=3,h=9,w=9:size=5:warp=64", "n=0,c=3,h=8,w=8:size=1", "n=2,c=0,h=8,w=8:size=3",
                             "n=1,c=2,h=0,w=6:size=2", "n=1,c=8,h=6,w=0:size=1:layout=nhwc"})
      test(std::string("f32:") + rest);
    return;
  }
  for (const char* window : {"r=2:stride=2", "r=3:stride=1:pad=1", "r=3:stride=2:pad=1"})
    for (const std::string& type : types) {
      for (const char* size : {"n=2,c=3,h=8,w=16", "n=1,c=2,h=9,w=17", "n=1,c=2,h=7,w=24", "n=2,c=1,h=4,w=4",
                               "n=1,c=1,h=2,w=2", "n=1,c=1,h=3,w=40", "n=1,c=5,h=33,w=8"})
        test(type + ":" + size + "," + window);
      for (const char* size : {"n=2,c=8,h=5,w=6", "n=1,c=16,h=4,w=3", "n=1,c=8,h=7,w=9", "n=1,c=3,h=6,w=5"})
        test(type + ":" + size + "," + window + ":layout=nhwc");
      for (const char* fill : {"nan", "inf", "denormal", "ones", "ints", "ties"}) {
        test(type + ":n=1,c=2,h=6,w=16," + window + ":fill=" + fill);
        test(type + ":n=1,c=8,h=6,w=7," + window + ":layout=nhwc:fill=" + fill);
      }
      for (const char* place : {"offset", "padded", "strided", "reversed"}) {
        test(type + ":n=2,c=3,h=6,w=8," + window + ":place=" + place);
        if (type != "f16") test(type + ":n=2,c=8,h=4,w=5," + window + ":layout=nhwc:place=" + place);
      }
    }
  // Any window; inputs between windows; sides of their own, and windows beyond the padding.
  for (const std::string& type : types)
    for (const char* rest :
         {"n=1,c=2,h=7,w=8,r=1", "n=2,c=2,h=9,w=8,r=3,s=2:stride=2,1:pad=1,0", "n=1,c=2,h=12,w=16,r=5:pad=2",
          "n=1,c=2,h=15,w=16,r=2:stride=7,5:pad=1", "n=1,c=4,h=7,w=7,r=7", "n=1,c=4,h=1,w=1,r=3:pad=1",
          "n=1,c=1,h=1,w=40,r=1,s=9:pad=0,4", "n=1,c=8,h=6,w=7,r=2,s=5:pad=1,3:layout=nhwc",
          "n=1,c=8,h=9,w=9,r=3:stride=3:layout=nhwc", "n=1,c=2,h=8,w=16,r=3:pad=1,1,2,2",
          "n=1,c=2,h=7,w=16,r=3:stride=2:pad=0,1,1,0", "n=1,c=2,h=7,w=16,r=2:stride=2:ceil_mode",
          "n=1,c=2,h=8,w=16,r=3:stride=2:pad=1:ceil_mode", "n=1,c=8,h=8,w=10,r=3:stride=2:pad=1:ceil_mode:layout=nhwc",
          "n=1,c=2,h=6,w=7,r=2:stride=4:pad=1:ceil_mode",
          "n=2,c=8,h=6,w=9,r=4:stride=3:pad=1,2,2,0:ceil_mode:layout=nhwc"})
      test(type + ":" + rest);
  for (const char* rest : {"n=1,c=2,h=9,w=16,r=3:stride=2:pad=1:warp=64", "n=0,c=3,h=8,w=8,r=3", "n=2,c=0,h=8,w=8,r=3",
                           "n=1,c=2,h=0,w=6,r=3:pad=2", "n=1,c=8,h=6,w=0,r=3:pad=2:layout=nhwc"})
    test(std::string("f32:") + rest);
  for (const std::string& type : types) {
    if (f == Pool::max) {
      test(type + ":n=1,c=2,h=20,w=24,r=3,s=2:dilation=2,3:pad=2");
      test(type + ":n=1,c=8,h=9,w=9,r=3:dilation=2:layout=nhwc:fill=nan");
      test(type + ":n=1,c=1,h=1,w=1,r=2:dilation=4:pad=2");
      test(type + ":n=1,c=2,h=6,w=8,r=3:pad=1:fill=constant,-inf");
      continue;
    }
    for (const char* rest : {"n=1,c=2,h=8,w=16,r=3:pad=1", "n=1,c=2,h=9,w=16,r=3:stride=2:pad=1",
                             "n=1,c=2,h=9,w=13,r=5:pad=4,2", "n=2,c=8,h=5,w=6,r=3:stride=2:pad=1:layout=nhwc",
                             "n=1,c=8,h=5,w=6,r=4:pad=3:layout=nhwc", "n=1,c=2,h=8,w=16,r=3:stride=2:pad=1:ceil_mode"})
      test(type + ":" + rest + ":count_include_pad=0");
  }
}

// Adaptive pooling: planes that divide into windows, and planes that do not; more outputs than inputs; the mean of
// whole planes, of sizes around 16 bytes, eight lanes, a warp and a block.
inline void add_adaptive_cases(check::CaseBook& book) {
  const auto test = [&](std::string rest) { book.tests.push_back(book.op + ":" + rest); };
  for (const char* type : {"f32", "f16", "bf16"}) {
    const std::string dtype = std::string(type) + ":";
    for (const char* rest : {"n=2,c=3,h=8,w=16:size=4,8", "n=1,c=2,h=9,w=15:size=3", "n=1,c=3,h=10,w=13:size=7",
                             "n=2,c=2,h=7,w=7:size=7", "n=1,c=2,h=3,w=4:size=7,9", "n=1,c=2,h=30,w=31:size=6,2",
                             "n=2,c=8,h=8,w=6:size=4,3:layout=nhwc", "n=2,c=16,h=10,w=9:size=7,4:layout=nhwc",
                             "n=1,c=8,h=2,w=3:size=5,7:layout=nhwc", "n=1,c=3,h=10,w=9:size=3:layout=nhwc"})
      test(dtype + rest);
    for (const char* size : {"n=2,c=3,h=1,w=1", "n=2,c=3,h=7,w=7", "n=3,c=5,h=4,w=8", "n=1,c=2,h=15,w=17",
                             "n=1,c=2,h=16,w=16", "n=1,c=2,h=31,w=33", "n=1,c=1,h=48,w=44", "n=33,c=1,h=2,w=3"})
      test(dtype + size + ":size=1");
    for (const char* size : {"n=2,c=8,h=1,w=1", "n=2,c=24,h=7,w=7", "n=1,c=264,h=3,w=2", "n=1,c=8,h=40,w=41",
                             "n=2,c=5,h=7,w=7", "n=3,c=16,h=1,w=19", "n=2,c=8,h=17,w=1"})
      test(dtype + size + ":size=1:layout=nhwc");
    for (const char* fill : {"nan", "inf", "denormal", "ones", "constant,-3"})
      for (const char* rest : {"n=1,c=8,h=6,w=8:size=1", "n=1,c=8,h=6,w=8:size=1:layout=nhwc", "n=1,c=8,h=6,w=8:size=4",
                               "n=1,c=8,h=6,w=8:size=3,4"})
        test(dtype + rest + ":fill=" + fill);
    for (const char* place : {"offset", "padded", "strided", "reversed"})
      for (const char* rest : {"n=2,c=3,h=6,w=8:size=1", "n=2,c=8,h=4,w=5:size=1:layout=nhwc",
                               "n=2,c=3,h=6,w=8:size=4,3", "n=2,c=8,h=4,w=5:size=3:layout=nhwc"})
        test(dtype + rest + ":place=" + place);
  }
  for (const char* rest : {"n=2,c=3,h=9,w=9:size=1", "n=1,c=16,h=9,w=9:size=1:layout=nhwc", "n=1,c=3,h=9,w=9:size=5"})
    test("f32:" + std::string(rest) + ":warp=64");
  // Nothing to write, or nothing to read.
  for (const char* rest :
       {"n=0,c=3,h=8,w=8:size=1", "n=2,c=0,h=8,w=8:size=3", "n=1,c=2,h=0,w=6:size=2", "n=1,c=2,h=6,w=0:size=1",
        "n=1,c=8,h=0,w=6:size=1:layout=nhwc", "n=0,c=8,h=8,w=8:size=1:layout=nhwc"})
    test("f32:" + std::string(rest));
  add_gradient_cases(book, Pool::adaptive_avg);
  for (const char* type : {"f32", "bf16"})
    for (const char* rest : {"n=32,c=2048,h=7,w=7:size=1:backward", "n=32,c=2048,h=7,w=7:size=1:layout=nhwc:backward"})
      book.benches.push_back(book.op + ":" + type + ":" + rest);
  for (const char* type : {"f32", "bf16"})
    for (const char* rest : {"n=32,c=2048,h=7,w=7:size=1", "n=32,c=2048,h=7,w=7:size=1:layout=nhwc",
                             "n=32,c=64,h=112,w=112:size=1", "n=32,c=64,h=112,w=112:size=1:layout=nhwc",
                             "n=32,c=512,h=14,w=14:size=7", "n=32,c=256,h=16,w=16:size=6:layout=nhwc"})
      book.benches.push_back(book.op + ":" + type + ":" + rest);
}

inline check::CaseBook book_of(Pool f) {
  const std::string op(name(f));
  const bool adaptive = f == Pool::adaptive_avg;
  check::CaseBook book{.op = op,
                       .keys = adaptive ? std::vector<std::string>{"n", "c", "h", "w"}
                                        : std::vector<std::string>{"n", "c", "h", "w", "r"},
                       .optional_keys = adaptive ? std::vector<std::string>{} : std::vector<std::string>{"s"},
                       .inputs = case_inputs,
                       .oracle = case_oracle,
                       .adjust = case_adjust,
                       .tests = {},
                       .benches = {},
                       .may_leave_range = f != Pool::max};
  if (adaptive) {
    add_adaptive_cases(book);
    return book;
  }
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
  // Sides with padding of their own, as much as a window allows; ceil_mode: with and without a window more, one that
  // would begin beyond the padding, and one that reaches beyond it, over input rows of whole vectors too.
  for (const std::string& type : types)
    for (const char* rest :
         {"n=1,c=2,h=7,w=9,r=3:pad=0,1,2,1", "n=1,c=2,h=8,w=16,r=3:stride=2:pad=1,1,0,2",
          "n=2,c=1,h=8,w=16,r=2:pad=1,0,0,1", "n=1,c=2,h=6,w=8,r=4,s=3:stride=3,2:pad=3,0,1,2",
          "n=1,c=2,h=8,w=16,r=3:pad=1,1,2,2", "n=1,c=8,h=5,w=6,r=3:stride=2:pad=0,0,1,1:layout=nhwc",
          "n=1,c=8,h=5,w=6,r=3:pad=2,1,0,2:layout=nhwc", "n=1,c=2,h=7,w=16,r=2:stride=2:ceil_mode",
          "n=1,c=2,h=7,w=9,r=2:stride=2:ceil_mode", "n=1,c=2,h=8,w=16,r=3:stride=2:ceil_mode",
          "n=1,c=2,h=8,w=16,r=3:stride=2:pad=1:ceil_mode", "n=1,c=2,h=5,w=4,r=3:stride=3:pad=1:ceil_mode",
          "n=1,c=2,h=6,w=7,r=2:stride=4:pad=1:ceil_mode", "n=1,c=3,h=10,w=11,r=5:stride=3:pad=2,1,1,2:ceil_mode",
          "n=1,c=2,h=37,w=41,r=4:stride=4,3:pad=1:ceil_mode", "n=1,c=8,h=7,w=6,r=2:stride=2:ceil_mode:layout=nhwc",
          "n=1,c=8,h=8,w=10,r=3:stride=2:pad=1:ceil_mode:layout=nhwc",
          "n=2,c=8,h=6,w=9,r=4:stride=3:pad=1,2,2,0:ceil_mode:layout=nhwc"})
      test(type + ":" + rest);
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
    // A divisor that counts inputs, padding, or what of a window is within both.
    for (const char* include : {"0", "1"})
      for (const char* rest : {"n=1,c=2,h=6,w=8,r=3:stride=2:pad=1,0,0,1:ceil_mode", "n=1,c=2,h=9,w=15,r=3:pad=2,0,1,1",
                               "n=1,c=8,h=6,w=8,r=3:stride=2:pad=0,1,1,0:ceil_mode:layout=nhwc",
                               "n=1,c=2,h=8,w=16,r=3:stride=2:pad=1:ceil_mode:fill=ones"})
        test(std::string("f32:") + rest + ":count_include_pad=" + include);
    test("f16:n=1,c=8,h=6,w=8,r=3:stride=2:pad=1:fill=overflow");
  }
  add_gradient_cases(book, f);
  // Of 16 images: then y is x's, as the search for a maximum wants it, and not random.
  for (const char* type : {"f32", "bf16"})
    for (const char* rest :
         {"n=16,c=64,h=112,w=112,r=3:stride=2:pad=1", "n=16,c=64,h=112,w=112,r=2:stride=2",
          "n=16,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc", "n=16,c=64,h=112,w=112,r=3:stride=1:pad=1"})
      book.benches.push_back(op + ":" + type + ":" + rest + ":backward");
  for (const char* type : {"f32", "bf16"})
    for (const char* rest :
         {"n=32,c=64,h=112,w=112,r=3:stride=1:pad=1", "n=32,c=64,h=112,w=112,r=3:stride=2:pad=1",
          "n=32,c=64,h=112,w=112,r=2:stride=2", "n=32,c=64,h=112,w=112,r=3:stride=1:pad=1:layout=nhwc",
          "n=32,c=64,h=112,w=112,r=3:stride=2:pad=1:layout=nhwc", "n=32,c=256,h=14,w=14,r=5:pad=2",
          "n=32,c=64,h=112,w=112,r=3:stride=2:ceil_mode", "n=32,c=64,h=112,w=112,r=3:stride=2:pad=0,0,1,1:layout=nhwc"})
      book.benches.push_back(op + ":" + type + ":" + rest);
  return book;
}

}  // namespace ridge::pool_detail
