// The family's cases: what tests, benchmarks and the command line run; here those of conv2d.
#pragma once
#include <ridge/check/activation_oracle.hpp>
#include <ridge/check/case_book.hpp>
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/oracle.hpp>
#include <ridge/conv/request.hpp>
#include <ridge/conv/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace ridge::conv_detail {

struct CaseShapes {
  std::vector<std::int64_t> x, w, y;  // as they are stored
};

inline Result<CaseShapes> case_shapes(const check::Case& c, const Request& r) {
  const std::int64_t n = c.dim("n"), in = c.dim("c"), out = c.dim("k"),
                     groups = std::max<std::int64_t>(r.geometry.groups, 1);
  const std::int64_t h = c.dim("h", 1), w = c.dim("w"), rows = c.dim("r", 1), cols = c.dim("s", rows);
  const std::int64_t d = c.dim("d", 1), slices = c.dim("t", rows);
  const auto stored = [&](std::int64_t first, std::int64_t channels, std::int64_t l, std::int64_t i, std::int64_t j) {
    std::vector<std::int64_t> shape{first};
    if (r.axes == 3) shape.push_back(l);
    if (r.axes >= 2) shape.push_back(i);
    shape.push_back(j);
    shape.insert(r.geometry.layout == ConvLayout::nhwc ? shape.end() : shape.begin() + 1, channels);
    return shape;
  };
  CaseShapes shapes;
  shapes.x = stored(n, in, d, h, w);
  shapes.w = r.transposed ? stored(in, out / groups, slices, rows, cols) : stored(out, in / groups, slices, rows, cols);
  const Layout x = Layout::contiguous(shapes.x), filters = Layout::contiguous(shapes.w);
  auto y = r.transposed ? conv_transpose2d_shape(r.geometry, r.output_pad, x, filters)
                        : conv2d_shape(r.geometry, x, filters);
  if (!y) return y.error();
  shapes.y = *y;
  return shapes;
}

inline Result<std::vector<TensorType>> case_inputs(const check::Case& c) {
  auto request = request_of(c.op, c.operator_options());
  if (!request) return request.error();
  auto shapes = case_shapes(c, *request);
  if (!shapes) return shapes.error();
  std::vector<TensorType> types{{c.dtype, shapes->x}, {c.dtype, shapes->w}};
  if (request->backward) types.insert(types.begin(), TensorType{c.dtype, shapes->y});
  if (request->bias) types.push_back({c.dtype, {c.dim("k")}});
  if (request->residual) types.push_back({c.dtype, shapes->y});
  return types;
}

// Tolerance, with u the roundoff of float32: a sum of n products, each rounded or fused, in any order, errs by at most
// (n + 1) u of the products' absolute sum; bias and a residual before the activation add one roundoff each of the
// whole. An activation amplifies an error by at most its slope, and errs itself by 8 operations of one
// unit around an exponential of its argument (elementwise/cases.hpp derives it). Then one rounding into the type. What
// underflows on the way is lost whole. As TF32 each factor has a relative error below 2^-10.
// Small whole numbers are exact.
inline void expect(check::Expected& e, const check::Case& c, const Term& of, const Request& r, double bias,
                   double residual) {
  const std::string_view fill = c.options.text("fill", "normal");
  const Activation activation = r.epilogue.activation;
  const bool linear = activation == Activation::none || activation == Activation::relu;
  const bool exact = (fill == "ints" || fill == "ones") && linear;
  const long double u = check::roundoff(f32), least = 0x1p-149L, terms = static_cast<long double>(of.terms);
  long double sum = of.sum, size = of.size;
  const auto add = [&](double addend) { sum += addend, size += std::fabs(addend); };
  if (r.bias) add(bias);
  if (r.residual && r.epilogue.residual_first) add(residual);
  const long double lost = r.math == ConvMath::tf32 ? 0x1p-10L * (1 + 0x1p-12L) : 0;
  long double error = ((terms + 1) * u + lost) * of.size + 2 * u * size + (terms + 3) * least;
  long double value = check::activation_oracle(name(activation), sum);
  if (!linear) {
    const long double a = std::fabs(sum);
    const long double amplified = activation == Activation::gelu        ? a * a
                                  : activation == Activation::gelu_tanh ? 6.4L * a * (1 + 0.045L * a * a)
                                                                        : a;
    error = check::activation_slope(name(activation)) * error +
            (8 + std::min(amplified, 1000.0L)) * 4 * u * std::fabs(value) + 8 * least +
            check::lost_below_normal(name(activation), sum, 0x1p-126L);
    if (activation == Activation::gelu) error += check::quick_gelu_error(c.dtype, sum, value);
  }
  if (r.residual && !r.epilogue.residual_first) {
    value += residual;
    error += u * std::fabs(value);
  }
  double want = static_cast<double>(value), tolerance = 0;
  const double near = check::round_to(c.dtype, want);
  if (exact || !std::isfinite(near)) want = near;
  else
    tolerance =
        static_cast<double>(error) + check::rounding_error(c.dtype, std::fabs(want) + static_cast<double>(error));
  e.value.push_back(want);
  e.tolerance.push_back(tolerance);
}

// The sides of a tensor in the order n, c, h, w, d, and where it stores its element (n, c, h, w, d). A signal has one
// row, and all but volumes have one slice.
struct Stored {
  bool last;  // channels are innermost
  std::int64_t n, c, h, w, d;

  Stored(const Request& r, const std::vector<std::int64_t>& shape) : last(r.geometry.layout == ConvLayout::nhwc) {
    std::vector<std::int64_t> s = shape;
    if (r.axes < 2) s.insert(s.begin() + (last ? 1 : 2), 1);
    if (r.axes < 3) s.insert(s.begin() + (last ? 1 : 2), 1);
    n = s[0];
    c = s[last ? 4 : 1];
    d = s[last ? 1 : 2];
    h = s[last ? 2 : 3];
    w = s[last ? 3 : 4];
  }
  std::size_t at(std::int64_t image, std::int64_t channel, std::int64_t i, std::int64_t j, std::int64_t l = 0) const {
    return static_cast<std::size_t>(last ? (((image * d + l) * h + i) * w + j) * c + channel
                                         : (((image * c + channel) * d + l) * h + i) * w + j);
  }
  ConvOracle::At reader(const check::HostTensor& t) const {
    return [&t, s = *this](auto... at) { return t.values[s.at(at...)]; };
  }
  // f(n, c, h, w, d) in the order in which elements are stored.
  template <class F> void every(const F& f) const {
    for (std::int64_t image = 0; image < n; ++image)
      for (std::int64_t channel = 0; channel < (last ? 1 : c); ++channel)
        for (std::int64_t l = 0; l < d; ++l)
          for (std::int64_t i = 0; i < h; ++i)
            for (std::int64_t j = 0; j < w; ++j) {
              if (!last) f(image, channel, i, j, l);
              for (std::int64_t inner = 0; last && inner < c; ++inner) f(image, inner, i, j, l);
            }
  }
};

// An oracle of the convolution that takes x to y; of a transposed one, of that which takes its y to its x.
inline ConvOracle oracle_of(const Request& r, const Stored& x, const Stored& w, const Stored& y) {
  const ConvGeometry& g = r.geometry;
  return {.n = x.n,
          .c = x.c,
          .h = x.h,
          .w = x.w,
          .k = w.n,
          .r = w.h,
          .s = w.w,
          .oh = y.h,
          .ow = y.w,
          .stride_h = g.stride.h,
          .stride_w = g.stride.w,
          .top = g.pad.top,
          .left = g.pad.left,
          .dilation_h = g.dilation.h,
          .dilation_w = g.dilation.w,
          .groups = g.groups,
          .d = x.d,
          .t = w.d,
          .od = y.d,
          .stride_d = g.depth.stride,
          .front = g.depth.front,
          .dilation_d = g.depth.dilation,
          .x = {},
          .filter = {},
          .dy = {}};
}

inline std::vector<check::Expected> case_oracle(const check::Case& c, const std::vector<check::HostTensor>& in) {
  const Request r = *request_of(c.op, c.operator_options());
  const CaseShapes shapes = *case_shapes(c, r);
  const Stored x(r, shapes.x), w(r, shapes.w), y(r, shapes.y);
  const std::size_t first = r.backward ? 1 : 0;
  ConvOracle o = r.transposed ? oracle_of(r, y, w, x) : oracle_of(r, x, w, y);
  o.filter = w.reader(in[first + 1]);
  (r.transposed ? o.dy : o.x) = x.reader(in[first]);
  if (r.backward) {
    o.dy = y.reader(in[0]);
    std::vector<check::Expected> gradients;
    const std::string_view outputs = c.options.text("outputs", "dx,dw");
    if (outputs.starts_with("dx"))
      x.every([&, &dx = gradients.emplace_back()](auto... at) { expect(dx, c, o.input_gradient(at...), r, 0, 0); });
    if (outputs.ends_with("dw"))
      w.every([&, &dw = gradients.emplace_back()](auto... at) { expect(dw, c, o.filter_gradient(at...), r, 0, 0); });
    return gradients;
  }
  const double* bias = r.bias ? in[2].values.data() : nullptr;
  const double* residual = r.residual ? in.back().values.data() : nullptr;
  check::Expected expected;
  y.every([&](auto n, auto k, auto... at) {
    const Term sum = r.transposed ? o.input_gradient(n, k, at...) : o.output(n, k, at...);
    expect(expected, c, sum, r, bias ? bias[k] : 0, residual ? residual[y.at(n, k, at...)] : 0);
  });
  return {expected};
}

// A convolution that Winograd's row may compute: y's own, or that of dy whose result is the gradient of x, or a
// transposed convolution. Magnitudes of its images and filters, and its sizes.
struct WinogradsProblem {
  std::int64_t n, k, c, rows, columns, top, left;                                   // rows, columns: of the result
  std::function<double(std::int64_t, std::int64_t, std::int64_t, std::int64_t)> x;  // n, c, i, j; zero outside
  std::function<double(std::int64_t, std::int64_t, int, int)> w;                    // k, c, tap
  Stored result;
};
inline WinogradsProblem winograds_problem(const Request& r, const CaseShapes& shapes,
                                          const std::vector<check::HostTensor>& in) {
  const ConvPad& pad = r.geometry.pad;
  const bool of_dy = r.backward || r.transposed;
  const Stored x(r, r.backward ? shapes.y : shapes.x), w(r, shapes.w);
  const Stored result(r, r.backward ? shapes.x : shapes.y);
  const check::HostTensor &images = in[0], &filters = in[r.backward ? 2 : 1];
  const auto image = [&images, x](std::int64_t n, std::int64_t ch, std::int64_t i, std::int64_t j) {
    const bool inside = i >= 0 && i < x.h && j >= 0 && j < x.w;
    return inside ? std::fabs(images.values[x.at(n, ch, i, j)]) : 0;
  };
  const auto filter = [&filters, w, of_dy](std::int64_t k, std::int64_t ch, int a, int b) {
    return std::fabs(filters.values[of_dy ? w.at(ch, k, 2 - a, 2 - b) : w.at(k, ch, a, b)]);
  };
  return {x.n,   result.c, x.c,   result.h, result.w, of_dy ? 2 - pad.top : pad.top, of_dy ? 2 - pad.left : pad.left,
          image, filter,   result};
}

// Whether a row, or a plan nested in it, may be Winograd's, for y or for the gradient of x.
inline bool may_be_winograds(const check::Case& c, const Request& r, const CaseShapes& shapes,
                             std::string_view variant) {
  const Stored w(r, shapes.w);
  const ConvGeometry& g = r.geometry;
  if (r.axes == 3 || c.dtype != f32 || w.h != 3 || w.w != 3 || g.groups != 1 || g.stride != ConvPair{} ||
      g.dilation != ConvPair{})
    return false;
  if (r.backward) return variant != "winograd" && c.options.text("outputs", "dx,dw").starts_with("dx");
  return true;
}

// Winograd's row sums products of sums: its bound has |G| |w| |G'| and |B'| |x| |B| in place of the magnitudes of
// filters and inputs, over the nine of 16 products that make an output. The filters' sums, with 2 additions along each
// axis, err by 4 u; the inputs', with 1, by 2 u; the products and their sums by channels + 1; the output's own sums,
// with 2, by 4 u. An underflow is lost once per addition. Activations and rounding are as for the other rows.
inline void case_tolerances(const check::Case& c, const std::vector<check::HostTensor>& in, std::string_view variant,
                            std::vector<check::Expected>& expected) {
  const std::string_view rows[] = {"winograd", "channels_last", "each_gradient", "flipped"};
  if (std::find(std::begin(rows), std::end(rows), variant) == std::end(rows)) return;
  const Request r = *request_of(c.op, c.operator_options());
  const CaseShapes shapes = *case_shapes(c, r);
  if (!may_be_winograds(c, r, shapes, variant)) return;
  const WinogradsProblem p = winograds_problem(r, shapes, in);
  const double u = static_cast<double>(check::roundoff(f32)), least = 0x1p-149;
  constexpr int one[] = {0, 1, 2, 1}, other[] = {2, 2, 1, 3};  // inputs of row e of B'
  for (std::int64_t n = 0; n < p.n; ++n)
    for (std::int64_t k = 0; k < p.k; ++k)
      for (std::int64_t i = 0; i < p.rows; ++i)
        for (std::int64_t j = 0; j < p.columns; ++j) {
          double size = 0, lost = 0;
          const std::int64_t top = i / 2 * 2 - p.top, left = j / 2 * 2 - p.left;
          for (std::int64_t ch = 0; ch < p.c; ++ch)
            for (int e = static_cast<int>(i % 2); e < 3 + i % 2; ++e)
              for (int f = static_cast<int>(j % 2); f < 3 + j % 2; ++f) {
                const auto of_x = [&](int a, int b) { return p.x(n, ch, top + a, left + b); };
                const double inputs =
                    of_x(one[e], one[f]) + of_x(other[e], one[f]) + of_x(one[e], other[f]) + of_x(other[e], other[f]);
                double filter = 0;
                for (int a = e == 3 ? 2 : 0; a < (e == 0 ? 1 : 3); ++a)
                  for (int b = f == 3 ? 2 : 0; b < (f == 0 ? 1 : 3); ++b)
                    filter += p.w(k, ch, a, b) * (e == 1 || e == 2 ? 0.5 : 1) * (f == 1 || f == 2 ? 0.5 : 1);
                size += inputs * filter;
                lost += 4 * (inputs + filter + 2) * least;
              }
          const double by = static_cast<double>(check::activation_slope(name(r.epilogue.activation))) *
                            ((static_cast<double>(p.c) + 12) * u * size + lost);
          double& tolerance = expected[0].tolerance[p.result.at(n, k, i, j)];
          if (tolerance > 0 && std::isfinite(by)) tolerance += by;  // a tile with infinities is computed by definition
        }
}

inline check::CaseBook empty_book(const std::string& op, std::vector<std::string> keys,
                                  std::vector<std::string> optional_keys = {}) {
  return {.op = op,
          .keys = std::move(keys),
          .optional_keys = std::move(optional_keys),
          .inputs = case_inputs,
          .oracle = case_oracle,
          .adjust = nullptr,
          .tolerances = case_tolerances,
          .tests = {},
          .benches = {},
          .may_leave_range = true};
}

inline check::CaseBook conv2d_book() {
  const std::string op = "conv2d";
  check::CaseBook book = empty_book(op, {"n", "c", "h", "w", "k", "r"}, {"s"});
  book.draw = draw;
  const auto test = [&](std::string rest) { book.tests.push_back(op + ":" + rest); };
  const char* const both[] = {"", ":backward"};
  const char* const layouts[] = {"", ":layout=nhwc"};
  // Sizes 0 and 1: no images, channels, filters; one pixel; an image that is only padding;
  // a filter as large as the image.
  for (const char* size : {"n=0,c=2,h=4,w=4,k=3,r=3", "n=2,c=0,h=4,w=5,k=3,r=3", "n=2,c=3,h=4,w=4,k=0,r=3",
                           "n=1,c=1,h=1,w=1,k=1,r=1", "n=2,c=3,h=4,w=5,k=2,r=4,s=5"})
    for (const char* layout : layouts)
      for (const char* direction : both) test("f32:" + std::string(size) + layout + direction);
  test("f32:n=1,c=2,h=0,w=3,k=2,r=2:pad=2,1:epilogue=bias");
  test("f32:n=1,c=0,h=4,w=4,k=3,r=3:epilogue=bias+relu");
  for (const char* activation : {"silu", "gelu_tanh", "gelu"})  // a part of each sum that is subnormal
    test(std::string("bf16:n=1,c=1,h=5,w=5,k=8,r=1:fill=alternating,9:epilogue=bias+") + activation);
  // The sizes that direct rows are compiled for, around their tiles of 8 x 128 outputs, and filters around 3, 6 and 8.
  for (const char* size :
       {"n=1,c=3,h=10,w=130,k=3,r=3", "n=2,c=2,h=9,w=127,k=4,r=3:pad=1", "n=1,c=1,h=8,w=129,k=1,r=3:pad=1",
        "n=1,c=3,h=7,w=20,k=16,r=3:pad=1", "n=1,c=2,h=11,w=12,k=9,r=3:pad=2,0,1,3", "n=1,c=6,h=14,w=134,k=6,r=6",
        "n=2,c=2,h=13,w=33,k=7,r=6:pad=3", "n=1,c=6,h=17,w=9,k=5,r=6", "n=1,c=4,h=9,w=35,k=6,r=3:pad=1:groups=2"})
    test("f32:" + std::string(size) + ":fill=ints");
  // Around the halo rows' tiles of 64 x 64 outputs and vectors of four taps: fewer, as many and more; one channel and
  // many; rows of whole vectors, with padding of them; a filter as large as the image.
  for (const char* size :
       {"n=1,c=1,h=66,w=66,k=1,r=3", "n=2,c=3,h=63,w=63,k=2,r=1", "n=1,c=2,h=67,w=69,k=1,r=3,s=5",
        "n=1,c=4,h=9,w=72,k=3,r=2,s=8:pad=0,4,1,3", "n=1,c=3,h=7,w=64,k=2,r=5,s=4:pad=2,1,0,3",
        "n=2,c=6,h=5,w=70,k=4,r=3:pad=1:groups=2", "n=1,c=1,h=4,w=8,k=1,r=4,s=8", "n=1,c=5,h=130,w=3,k=2,r=7,s=2"})
    test("f32:" + std::string(size) + ":fill=ints");
  for (const char* rest : {"fill=nan", "fill=inf", "epilogue=bias+residual+relu", "place=strided", "warp=64"})
    test("f32:n=1,c=3,h=6,w=67,k=2,r=2,s=5:pad=1:" + std::string(rest));  // three of a vector's taps do not exist
  // Depthwise, with one and more filters per channel.
  for (const char* type : {"f32", "bf16"})
    for (const char* layout : layouts)
      for (const char* direction : both) {
        test(std::string(type) + ":n=2,c=5,h=9,w=17,k=5,r=3:pad=1:groups=5" + layout + direction);
        test(std::string(type) + ":n=1,c=3,h=7,w=9,k=6,r=3:pad=1:groups=3:stride=2" + layout + direction);
      }
  // Planes: many small ones in a block, the last block with fewer; bands of one, the last of fewer rows; planes that
  // begin anywhere, and within a filter; padding of more than a filter reaches.
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* size : {"n=3,c=29,h=7,w=7,k=29,r=3:pad=1:groups=29", "n=2,c=3,h=75,w=131,k=3,r=3:pad=1:groups=3",
                             "n=1,c=2,h=40,w=260,k=2,r=5:pad=2:groups=2", "n=2,c=5,h=14,w=15,k=5,r=7:pad=3:groups=5",
                             "n=1,c=9,h=2,w=3,k=9,r=5:pad=2:groups=9", "n=2,c=4,h=5,w=6,k=4,r=3:pad=4,3,0,5:groups=4",
                             "n=1,c=1,h=33,w=29,k=1,r=7:pad=3", "n=2,c=3,h=9,w=300,k=3,r=3:groups=3"})
      for (const char* stride : {"", ":stride=2"}) test(std::string(type) + ":" + size + ":fill=ints" + stride);
  for (const char* rest : {"epilogue=bias+relu", "epilogue=bias+residual+relu", "epilogue=bias+silu+residual",
                           "fill=nan", "fill=inf", "place=padded", "place=offset", "place=strided", "warp=64"})
    test("bf16:n=2,c=5,h=9,w=11,k=5,r=3:pad=1:groups=5:" + std::string(rest));
  // Groups of one and of four channels, channels innermost: 16-byte vectors, and a block's 32 of them; strips.
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* size : {"n=2,c=16,h=7,w=9,k=16,r=3:pad=1:groups=16",
                             "n=1,c=264,h=3,w=4,k=264,r=3:pad=1:groups=264:variant=depthwise_last",
                             "n=2,c=24,h=9,w=8,k=24,r=2,s=3:stride=2,1:dilation=1,2:pad=0,3,2,1:groups=24",
                             "n=3,c=8,h=5,w=5,k=8,r=1:groups=8", "n=2,c=16,h=7,w=9,k=16,r=3:pad=1:groups=4",
                             "n=1,c=264,h=5,w=6,k=264,r=3:stride=2:pad=1:groups=66:variant=grouped_4_last"})
      test(std::string(type) + ":" + size + ":layout=nhwc:fill=ints");
  // Depthwise filters of each size, with both strides: strips that reach over either side, and images within a filter.
  for (const char* type : {"f32", "bf16"})
    for (const char* size : {"n=2,c=16,h=7,w=9,k=16,r=3:pad=1:groups=16", "n=1,c=24,h=9,w=14,k=24,r=5:pad=2:groups=24",
                             "n=2,c=8,h=10,w=11,k=8,r=7:pad=3:groups=8", "n=1,c=8,h=2,w=3,k=8,r=5:pad=2:groups=8",
                             "n=1,c=264,h=3,w=4,k=264,r=3:pad=0,1,2,0:groups=264", "n=3,c=8,h=6,w=5,k=8,r=3:groups=8"})
      for (const char* stride : {"", ":stride=2"})
        for (const char* rest : {"", ":epilogue=bias+silu"})
          test(std::string(type) + ":" + size + ":layout=nhwc:fill=" + (*rest ? "normal" : "ints") + stride + rest);
  for (const char* rest :
       {"epilogue=bias+relu", "epilogue=bias", "epilogue=bias+residual+relu", "epilogue=bias+silu+residual", "fill=nan",
        "fill=inf", "place=padded", "place=offset", "warp=64"})
    for (const char* groups : {"16", "4"})
      test("bf16:n=2,c=16,h=5,w=6,k=16,r=3:pad=1:groups=" + std::string(groups) + ":layout=nhwc:" + rest);
  // Their gradients: strips of four elements and of four outputs, which end within images; even and odd padding, more
  // of it than a filter reaches; several vectors of channels, and more than a block has; one gradient alone.
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* size :
         {"n=2,c=16,h=7,w=9,k=16,r=3:pad=1:groups=16", "n=1,c=24,h=9,w=14,k=24,r=5:pad=2:groups=24",
          "n=2,c=8,h=10,w=11,k=8,r=7:pad=3:groups=8", "n=3,c=8,h=6,w=5,k=8,r=3:groups=8",
          "n=1,c=8,h=5,w=6,k=8,r=3:pad=4,3,0,5:groups=8", "n=2,c=8,h=8,w=9,k=8,r=5:pad=1,0,2,3:groups=8"})
      for (const char* stride : {"", ":stride=2"})
        test(std::string(type) + ":" + size + ":layout=nhwc:backward:fill=ints" + stride);
  for (const char* stride : {"", ":stride=2"}) {
    test(std::string("bf16:n=1,c=264,h=5,w=6,k=264,r=3:pad=1:groups=264:layout=nhwc:backward:fill=ints:variant=") +
         "depthwise_3_gradient" + stride);
    for (const char* rest :
         {"fill=nan", "fill=inf", "outputs=dx", "outputs=dw", "place=padded", "place=offset", "warp=64"})
      test(std::string("bf16:n=2,c=16,h=6,w=7,k=16,r=3:pad=1:groups=16:layout=nhwc:backward:") + rest + stride);
  }
  // Implicit GEMM: around tiles of 64 and 128 filters, 128 pixels, and steps of eight terms; pixels in parts.
  for (const char* size : {"n=1,c=1,h=11,w=12,k=64,r=1", "n=1,c=8,h=8,w=16,k=65,r=1", "n=2,c=9,h=8,w=8,k=63,r=1",
                           "n=1,c=3,h=9,w=15,k=130,r=3:pad=1", "n=2,c=5,h=17,w=19,k=4,r=3:pad=1",
                           "n=3,c=4,h=16,w=16,k=8,r=2,s=3:pad=1,0,0,2"})
    for (const char* layout : layouts)
      for (const char* direction : both) test("f32:" + std::string(size) + ":fill=ints" + layout + direction);
  // Filters of one tap, as matrix products: images that merge into one matrix, and a batch of matrices; sizes of whole
  // vectors and odd ones; each gradient alone; the residual before the activation and after it.
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* size : {"n=2,c=24,h=5,w=8,k=40,r=1", "n=3,c=7,h=3,w=5,k=9,r=1", "n=1,c=136,h=4,w=4,k=8,r=1"})
      for (const char* layout : layouts) {
        const std::string one_tap = std::string(type) + ":" + size + layout;
        for (const char* direction : {"", ":backward", ":backward:outputs=dx", ":backward:outputs=dw"})
          test(one_tap + direction);
        for (const char* epilogue : {"bias", "silu", "bias+residual+relu", "bias+gelu+residual"})
          test(one_tap + ":epilogue=" + epilogue);
      }
  for (const char* layout : layouts) {
    for (const char* rest : {"place=padded", "place=strided", "place=reversed", "place=offset", "fill=nan", "fill=inf"})
      for (const char* direction : both)
        test("f16:n=2,c=16,h=3,w=8,k=24,r=1:" + std::string(rest) + layout + direction);
    test("f32:n=2,c=32,h=5,w=8,k=24,r=1:math=tf32" + std::string(layout));
  }
  // Copies to channels-last tensors and back: channels and filters of no whole vectors, of one tile and of several; few
  // and many pixels, which are an axis or are not; each gradient alone; what pads an epilogue's tensors.
  for (const char* type : {"f32", "f16"})
    for (const char* size : {"n=2,c=70,h=7,w=9,k=35,r=3:pad=1", "n=3,c=17,h=12,w=11,k=24,r=2:stride=2",
                             "n=1,c=24,h=1,w=5,k=20,r=1,s=3", "n=2,c=3,h=9,w=8,k=6,r=2:stride=3"})
      for (const char* layout : layouts)
        for (const char* direction : {"", ":backward", ":backward:outputs=dx", ":backward:outputs=dw"})
          test(std::string(type) + ":" + size + ":fill=ints" + layout + direction);
  for (const char* layout : layouts) {
    for (const char* epilogue : {"bias", "bias+residual+relu", "bias+silu+residual"})
      test(std::string("bf16:n=2,c=20,h=6,w=7,k=30,r=3:pad=1:epilogue=") + epilogue + layout);
    for (const char* rest : {"place=padded", "place=strided", "place=reversed", "place=offset", "fill=nan", "fill=inf"})
      for (const char* direction : both)
        test("f16:n=2,c=21,h=6,w=7,k=24,r=3:pad=1:" + std::string(rest) + layout + direction);
    for (const char* place : {"padded", "strided", "reversed", "offset"})
      test(std::string("f16:n=2,c=24,h=5,w=6,k=18,r=2:epilogue=bias+residual+relu:place=") + place + layout);
    for (const char* groups :
         {"n=2,c=24,h=9,w=10,k=24,r=3:pad=1:groups=24", "n=1,c=20,h=8,w=9,k=20,r=5:pad=2:groups=20",
          "n=2,c=16,h=7,w=6,k=32,r=3:groups=2", "n=1,c=16,h=6,w=6,k=32,r=3:groups=16"})
      for (const char* direction : {"", ":backward", ":backward:outputs=dx", ":backward:outputs=dw"})
        for (const char* rest : {"", ":place=offset"})
          test(std::string("bf16:") + groups + ":fill=ints" + layout + direction + rest);
  }
  // Winograd's tiles of 2x2 outputs, 128 of them and 128 filters, steps of 16 channels; odd sides, pairs of outputs.
  for (const char* size : {"n=1,c=1,h=3,w=3,k=1,r=3", "n=1,c=16,h=18,w=34,k=128,r=3",
                           "n=3,c=17,h=11,w=14,k=9,r=3:pad=1", "n=2,c=15,h=8,w=33,k=129,r=3:pad=0,2,3,1"})
    for (const char* fill : {"ints", "normal"})
      for (const char* layout : layouts) test("f32:" + std::string(size) + ":fill=" + fill + layout);
  for (const char* layout : layouts) test("f32:n=1,c=5,h=6,w=6,k=4,r=3:pad=1:fill=constant,1e38" + std::string(layout));
  // Strides, dilations, asymmetric padding, groups; strides that share a factor with the dilation, and taps that some
  // elements of x do not meet.
  for (const char* rest :
       {"n=2,c=3,h=13,w=11,k=5,r=3:stride=2:pad=1", "n=1,c=4,h=15,w=14,k=6,r=3:dilation=2:pad=2:groups=2",
        "n=1,c=2,h=16,w=13,k=3,r=3:stride=2,3:dilation=2,3:pad=2,1,0,3", "n=1,c=3,h=12,w=9,k=4,r=1:stride=3",
        "n=1,c=3,h=20,w=23,k=4,r=7:stride=2:pad=3", "n=1,c=6,h=7,w=8,k=9,r=2,s=3:stride=1,2:groups=3",
        "n=1,c=2,h=9,w=9,k=2,r=3:stride=4:dilation=3:pad=4"})
    for (const char* type : {"f32", "f16"})
      for (const char* layout : layouts)
        for (const char* direction : both) test(std::string(type) + ":" + rest + layout + direction);
  for (const char* type : {"f16", "bf16"})
    for (const char* layout : layouts)
      for (const char* direction : both)
        test(std::string(type) + ":n=2,c=16,h=9,w=10,k=72,r=3:pad=1" + layout + direction);
  // Elements of x that no tap meets, and more filters than a step on tensor cores.
  for (const char* type : {"f16", "bf16"})
    test(std::string(type) + ":n=1,c=8,h=7,w=8,k=136,r=2:stride=3:layout=nhwc:backward");
  // Tensor cores: around tiles of 128 pixels and 64, 128 and 256 filters, and steps of 64 channels; tiles across
  // images; more tiles than multiprocessors; few channels, whose windows are copied; misaligned tensors,
  // which are copied too.
  for (const char* rest :
       {"n=1,c=64,h=8,w=16,k=64,r=1", "n=3,c=72,h=7,w=7,k=72,r=3:pad=1", "n=1,c=8,h=1,w=129,k=128,r=1",
        "n=2,c=136,h=7,w=9,k=264,r=2,s=1:stride=2,1:dilation=2:pad=0,3,1,2", "n=1,c=64,h=3,w=127,k=65,r=1",
        "n=17,c=8,h=32,w=33,k=8,r=1", "n=1,c=320,h=4,w=4,k=72,r=3:pad=1"})
    test("f16:" + std::string(rest) + ":fill=ints:layout=nhwc");
  for (const char* layout : layouts) {
    test(std::string("f16:n=2,c=3,h=21,w=23,k=16,r=7:stride=2:pad=3:fill=ints") + layout);
    test(std::string("f16:n=1,c=24,h=9,w=30,k=40,r=3:stride=8,3:pad=130,0,0,4:fill=ints") + layout);
  }
  test("bf16:n=2,c=128,h=6,w=6,k=136,r=3:pad=1:layout=nhwc");
  // Patches: windows that follow each other, with strides beyond those of a walk over pixels.
  for (const char* rest : {"n=3,c=3,h=48,w=64,k=72,r=16:stride=16", "n=1,c=3,h=50,w=56,k=40,r=16:stride=16",
                           "n=1,c=3,h=50,w=60,k=40,r=16:stride=16", "n=2,c=4,h=28,w=28,k=24,r=14:stride=14",
                           "n=2,c=24,h=8,w=12,k=16,r=4:stride=4"})
    test("bf16:" + std::string(rest) + ":layout=nhwc:fill=ints");
  for (const char* epilogue : {"bias+relu", "bias+silu", "bias+residual+relu", "relu+residual"})
    test(std::string("f16:n=2,c=64,h=5,w=6,k=72,r=3:pad=1:layout=nhwc:epilogue=") + epilogue);
  for (const char* fill : {"nan", "inf"})
    test(std::string("f16:n=2,c=72,h=6,w=6,k=24,r=3:pad=1:layout=nhwc:fill=") + fill);
  for (const char* place : {"offset", "padded", "strided"})
    test(std::string("f16:n=2,c=64,h=7,w=8,k=64,r=3:pad=1:layout=nhwc:fill=ints:place=") + place);
  // TF32: around steps of 32 channels, tiles of 128 pixels, and 64 and 128 filters; copies of misaligned tensors.
  for (const char* rest :
       {"n=3,c=36,h=7,w=7,k=72,r=3:pad=1:layout=nhwc", "n=1,c=64,h=8,w=16,k=64,r=1:layout=nhwc:fill=ints",
        "n=1,c=8,h=1,w=129,k=132,r=1:layout=nhwc", "n=2,c=35,h=9,w=8,k=130,r=3:pad=1",
        "n=2,c=3,h=21,w=23,k=16,r=7:stride=2:pad=3:fill=ints", "n=2,c=32,h=6,w=6,k=24,r=3:pad=1:layout=nhwc:fill=inf",
        "n=2,c=64,h=5,w=6,k=72,r=3:pad=1:layout=nhwc:epilogue=bias+relu",
        "n=2,c=64,h=5,w=6,k=72,r=3:pad=1:layout=nhwc:epilogue=bias+residual+silu"})
    test("f32:" + std::string(rest) + ":math=tf32");
  // Epilogues, with every kind of row.
  for (const char* epilogue :
       {"bias", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "relu6", "hardswish", "hardsigmoid", "residual",
        "bias+relu+residual", "bias+residual+relu", "bias+residual+silu"}) {
    test(std::string("f32:n=2,c=3,h=9,w=10,k=4,r=3:pad=1:epilogue=") + epilogue);
    test(std::string("bf16:n=2,c=4,h=7,w=8,k=4,r=3:pad=1:layout=nhwc:epilogue=") + epilogue);
  }
  test("f32:n=1,c=4,h=6,w=6,k=4,r=3:pad=1:groups=4:epilogue=bias+residual+relu");
  test("f16:n=2,c=4,h=8,w=8,k=6,r=3:pad=1:groups=2:epilogue=bias+residual+relu:fill=ints");
  for (const char* fill : {"nan", "inf", "ones", "denormal", "constant,-3"})
    for (const char* layout : layouts)
      for (const char* direction : both) {
        test(std::string("f32:n=1,c=3,h=9,w=9,k=4,r=3:pad=1:fill=") + fill + layout + direction);
        test(std::string("bf16:n=1,c=3,h=8,w=9,k=4,r=3:stride=2:pad=1:fill=") + fill + layout + direction);
      }
  for (const char* place : {"offset", "padded", "strided", "reversed"})
    for (const char* layout : layouts) {
      for (const char* direction : both) {
        test(std::string("f32:n=2,c=3,h=9,w=12,k=4,r=3:pad=1:fill=ints:place=") + place + layout + direction);
        test(std::string("f16:n=2,c=4,h=7,w=8,k=8,r=3:stride=2:pad=1:place=") + place + layout + direction);
      }
      test(std::string("f32:n=1,c=2,h=8,w=8,k=4,r=3:pad=1:epilogue=bias+residual+relu:place=") + place + layout);
    }
  // One gradient alone, of which what is not read may be anywhere.
  for (const char* outputs : {"dx", "dw"})
    for (const char* layout : layouts)
      test("f16:n=2,c=21,h=6,w=7,k=24,r=3:pad=1:place=offset:backward:outputs=" + std::string(outputs) + layout);
  // One gradient alone, with every kind of row.
  for (const char* outputs : {"dx", "dw"})
    for (const char* rest :
         {"f32:n=2,c=5,h=9,w=8,k=6,r=3:stride=2:pad=1", "f16:n=2,c=16,h=7,w=8,k=24,r=3:pad=1:layout=nhwc",
          "bf16:n=1,c=6,h=8,w=8,k=4,r=3:groups=2", "f32:n=0,c=2,h=4,w=4,k=3,r=3", "f32:n=2,c=0,h=4,w=5,k=3,r=3",
          "f32:n=2,c=3,h=4,w=4,k=0,r=3"})
      test(std::string(rest) + ":backward:outputs=" + outputs);
  for (const char* direction : both) {
    test("f32:n=1,c=3,h=9,w=12,k=4,r=3:pad=1:warp=64" + std::string(direction));
    test("f32:n=1,c=3,h=9,w=12,k=70,r=3:pad=1:layout=nhwc:warp=64" + std::string(direction));
  }
  test("f32:n=1,c=2,h=9,w=12,k=6,r=6:warp=64");

  const auto bench = [&](std::string rest) { book.benches.push_back(op + ":" + rest); };
  for (const char* rest : {"n=1,c=6,h=768,w=512,k=6,r=6", "n=1,c=3,h=1080,w=1920,k=3,r=3:pad=1",
                           "n=1,c=3,h=768,w=512,k=16,r=3", "n=8,c=6,h=768,w=512,k=6,r=6"})
    bench("f32:" + std::string(rest));
  for (const char* rest : {"n=32,c=64,h=56,w=56,k=64,r=3:pad=1", "n=32,c=256,h=14,w=14,k=256,r=3:pad=1",
                           "n=64,c=512,h=28,w=28,k=512,r=3:pad=1", "n=32,c=3,h=224,w=224,k=64,r=7:stride=2:pad=3",
                           "n=32,c=1024,h=14,w=14,k=256,r=1"}) {
    bench("f32:" + std::string(rest));
    bench("f32:" + std::string(rest) + ":layout=nhwc:math=tf32");
    for (const char* type : {"bf16:", "f16:"}) bench(std::string(type) + rest + ":layout=nhwc");
    bench("bf16:" + std::string(rest) + ":layout=nhwc:epilogue=bias+relu");
  }
  bench("bf16:n=32,c=64,h=56,w=56,k=64,r=3:pad=1:layout=nhwc:epilogue=bias+residual+relu");
  bench("bf16:n=64,c=3,h=224,w=224,k=768,r=16:stride=16:layout=nhwc:epilogue=bias");
  bench("f32:n=32,c=128,h=56,w=56,k=128,r=3:pad=1:groups=128");
  for (const char* groups : {"128", "32"})
    bench("bf16:n=32,c=128,h=56,w=56,k=128,r=3:pad=1:layout=nhwc:groups=" + std::string(groups));
  // EfficientNet-B0's and ConvNeXt-T's depthwise filters.
  for (const char* rest :
       {"n=32,c=32,h=112,w=112,k=32,r=3:pad=1:groups=32", "n=32,c=96,h=112,w=112,k=96,r=3:stride=2:pad=1:groups=96",
        "n=32,c=240,h=28,w=28,k=240,r=5:pad=2:groups=240", "n=32,c=672,h=14,w=14,k=672,r=5:stride=2:pad=2:groups=672",
        "n=32,c=1152,h=7,w=7,k=1152,r=5:pad=2:groups=1152"})
    bench("bf16:" + std::string(rest) + ":layout=nhwc:epilogue=bias+silu");
  bench("bf16:n=32,c=96,h=56,w=56,k=96,r=7:pad=3:groups=96:layout=nhwc:epilogue=bias");
  // MobileNetV3's and EfficientNet-B0's filters of one tap, ConvNeXt-T's, and YOLO's.
  for (const char* rest :
       {"n=32,c=16,h=112,w=112,k=64,r=1:epilogue=bias+relu", "n=32,c=80,h=14,w=14,k=480,r=1:epilogue=bias+silu",
        "n=32,c=672,h=14,w=14,k=112,r=1:epilogue=bias", "n=1,c=320,h=7,w=7,k=1280,r=1:epilogue=bias+silu",
        "n=32,c=96,h=56,w=56,k=384,r=1:epilogue=bias+gelu", "n=1,c=192,h=80,w=80,k=128,r=1:epilogue=bias+silu"})
    bench("bf16:" + std::string(rest) + ":layout=nhwc");
  bench("bf16:n=32,c=256,h=14,w=14,k=1024,r=1:layout=nhwc:backward");
  for (const char* rest : {"n=32,c=64,h=56,w=56,k=64,r=3:pad=1", "n=32,c=256,h=14,w=14,k=256,r=3:pad=1"})
    bench("f32:" + std::string(rest) + ":backward");
  for (const char* rest : {"n=32,c=64,h=56,w=56,k=64,r=3:pad=1", "n=32,c=256,h=14,w=14,k=256,r=3:pad=1",
                           "n=64,c=512,h=28,w=28,k=512,r=3:pad=1", "n=32,c=128,h=56,w=56,k=128,r=3:stride=2:pad=1"})
    bench("bf16:" + std::string(rest) + ":layout=nhwc:backward");
  return book;
}

}  // namespace ridge::conv_detail
