// Hopper's rows on the CPU runtime, which emulates TMA, mbarrier and wgmma: against the sum in double. Elements are small
// whole numbers, so that sums are exact and what comes out of them is one rounding.
#include <ridge/conv/oracle.hpp>
#include <ridge/conv/sm90_launch.cuh>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ridge::conv_detail {
namespace {

struct Case {
  const char* about;
  std::int64_t n = 1, c = 64, h = 8, w = 8, k = 64, r = 3, s = 3;
  ConvGeometry geometry = {.layout = ConvLayout::nhwc};
  ConvEpilogue epilogue = {};
  bool bias = false, residual = false;
  bool special_values = false;
  int offset = 0;  // elements from x's start on 16 bytes
  int gap = 0;     // elements between its pixels
};

// As the table has them, without clusters, which are not emulated.
template <int I> struct Emulated {
  static constexpr gemm_kernels::Config config = [] {
    gemm_kernels::Config c = wgmma_tile(variants[I].config);
    c.cluster = 1;
    return c;
  }();
};
constexpr int first_of(Method method) {
  int i = 0;
  while (variants[i].config.method != method) ++i;
  return i;
}
constexpr int fma_64 = first_of(Method::fma), fma_256 = fma_64 + 1;
constexpr int first_row = first_of(Method::wgmma);
constexpr int narrow = first_row, thin = first_row + 1, square = first_row + 2, ping_pong = first_row + 3,
              wide = first_row + 4;

constexpr int stem_7 = first_of(Method::stem);
constexpr int tf32_64 = stem_7 + 1, tf32_128 = stem_7 + 2, tf32_256 = stem_7 + 3;
static_assert(variants[tf32_64].config.tf32 && variants[tf32_256].config.tf32);

constexpr float untouched = 7;

template <int I, class T> void check(const Case& t) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(3);
  std::uniform_int_distribution<int> small(-2, 2);
  const auto fill = [&](std::vector<T>& v) {
    for (T& e : v) e = T(static_cast<float>(small(bits)));
  };
  const bool nhwc = t.geometry.layout == ConvLayout::nhwc;
  const std::int64_t pitch = t.c + t.gap;  // of pixels, channels last
  std::vector<T> x(static_cast<std::size_t>(t.offset + t.n * t.h * t.w * pitch)),
      w(static_cast<std::size_t>(t.k * t.r * t.s * t.c)), bias(static_cast<std::size_t>(t.k));
  fill(x), fill(w), fill(bias);
  TensorView vx =
      nhwc ? view(x.data() + t.offset, {t.n, t.h, t.w, t.c}) : view(x.data() + t.offset, {t.n, t.c, t.h, t.w});
  if (nhwc) vx.layout.stride = {t.h * t.w * pitch, t.w * pitch, pitch, 1};
  const TensorView vw = nhwc ? view(w.data(), {t.k, t.r, t.s, t.c}) : view(w.data(), {t.k, t.c, t.r, t.s});
  const auto shape = conv2d_shape(t.geometry, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  const std::int64_t oh = (*shape)[nhwc ? 1 : 2], ow = (*shape)[nhwc ? 2 : 3];
  std::vector<T> y(static_cast<std::size_t>(t.n * t.k * oh * ow + 16), T(untouched)), residual = y;
  fill(residual);
  const auto at = [](const TensorView& v, std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j,
                     bool last) -> T& {
    const auto& s = v.layout.stride;
    return static_cast<T*>(v.data)[n * s[0] + (last ? i * s[1] + j * s[2] + c * s[3] : c * s[1] + i * s[2] + j * s[3])];
  };
  if (t.special_values) {
    at(vx, 0, t.c - 1, 0, 0, nhwc) = T(INFINITY);
    at(vx, t.n - 1, 0, t.h - 1, t.w - 1, nhwc) = T(NAN);
    at(vw, 0, t.c - 1, t.r - 1, t.s - 1, nhwc) = T(INFINITY);
    at(vw, t.k - 1, 0, 0, 0, nhwc) = T(NAN);
  }
  const auto like_y = [&](std::vector<T>& v) {
    return view(v.data(), {(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]});
  };
  ConvTensors tensors{.x = vx, .w = vw, .y = like_y(y)};
  if (t.bias) tensors.bias = view(bias.data(), {t.k});
  if (t.residual) tensors.residual = like_y(residual);
  auto problem = ConvProblem::of(tensors, t.geometry, t.epilogue);
  ASSERT_TRUE(problem.ok()) << problem.error().message();

  DeviceInfo device;
  device.sms = 2;  // blocks: each has several tiles where there are more
  const ConvPlan plan{*problem, device, I};
  // NaN where nothing is copied, and what must not be written to behind it.
  const bool copies = gathers(variants[I].config);
  const std::size_t workspace_bytes =
      copies ? static_cast<std::size_t>(gathering_of(*problem, variants[I].config).bytes()) : 0;
  std::vector<uint4> workspace(workspace_bytes / 16 + 1, uint4{~0u, ~0u, ~0u, ~0u});
  const Arguments args{.plan = plan,
                       .x = vx.data,
                       .w = vw.data,
                       .bias = t.bias ? bias.data() : nullptr,
                       .residual = t.residual ? residual.data() : nullptr,
                       .dy = nullptr,
                       .y = y.data(),
                       .dx = nullptr,
                       .dw = nullptr,
                       .workspace = workspace.data(),
                       .stream = {}};
  const Status status = [&] {
    if constexpr (variants[I].config.method == Method::fma) return launch_fma_row<Row<I>>(args);
    else if constexpr (variants[I].config.method == Method::stem) return launch_stem_row<Row<I>, T>(args);
    else return launch_wgmma_row<Emulated<I>, T>(args);
  }();
  ASSERT_TRUE(status.ok()) << status.message();

  const ConvGeometry& g = t.geometry;
  const ConvOracle oracle{
      .n = t.n,
      .c = t.c,
      .h = t.h,
      .w = t.w,
      .k = t.k,
      .r = t.r,
      .s = t.s,
      .oh = oh,
      .ow = ow,
      .stride_h = g.stride.h,
      .stride_w = g.stride.w,
      .top = g.pad.top,
      .left = g.pad.left,
      .dilation_h = g.dilation.h,
      .dilation_w = g.dilation.w,
      .groups = 1,
      .x = [&](auto n, auto c, auto i, auto j) { return double{float(at(vx, n, c, i, j, nhwc))}; },
      .filter = [&](auto k, auto c, auto a, auto b) { return double{float(at(vw, k, c, a, b, nhwc))}; },
      .dy = {}};
  for (std::int64_t n = 0; n < t.n; ++n)
    for (std::int64_t k = 0; k < t.k; ++k)
      for (std::int64_t i = 0; i < oh; ++i)
        for (std::int64_t j = 0; j < ow; ++j) {
          double want = oracle.output(n, k, i, j).sum;
          const double addend = t.residual ? double{float(at(*tensors.residual, n, k, i, j, nhwc))} : 0;
          if (t.bias) want += double{float(bias[static_cast<std::size_t>(k)])};
          if (t.epilogue.residual_first) want += addend;
          if (t.epilogue.activation == Activation::relu && want < 0) want = 0;
          if (!t.epilogue.residual_first) want += addend;
          const float rounded = float(T(static_cast<float>(want))), got = float(at(tensors.y, n, k, i, j, nhwc));
          if (std::isnan(want)) ASSERT_TRUE(std::isnan(got)) << n << " " << k << " " << i << " " << j;
          else ASSERT_EQ(got, rounded) << n << " " << k << " " << i << " " << j;
        }
  for (std::size_t i = y.size() - 16; i < y.size(); ++i) ASSERT_EQ(float(y[i]), untouched);
  ASSERT_EQ(workspace.back().x, ~0u);  // copies are whole units
}

constexpr ConvGeometry padded(std::int64_t n) { return {.pad = {n, n, n, n}, .layout = ConvLayout::nhwc}; }
constexpr ConvGeometry stride_of(std::int64_t stride, std::int64_t pad) {
  return {.stride = {stride, stride}, .pad = {pad, pad, pad, pad}, .layout = ConvLayout::nhwc};
}

TEST(ConvOnHopper, OneTile) {
  check<narrow, half>({.about = "a product", .h = 8, .w = 16, .r = 1, .s = 1});
  check<narrow, half>({.about = "3x3", .h = 8, .w = 16, .geometry = padded(1)});
}
TEST(ConvOnHopper, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 72, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  check<narrow, bfloat16>(t);
  check<thin, half>(t);
  check<square, half>(t);
  check<ping_pong, half>(t);
  check<wide, bfloat16>(t);
}
TEST(ConvOnHopper, AroundTheTilesEdges) {
  for (const std::int64_t pixels : {127, 129, 257})
    check<square, half>({.about = "pixels", .h = 1, .w = pixels, .k = 128, .r = 1, .s = 1});
  for (const std::int64_t k : {8, 120, 136})
    check<square, half>({.about = "filters", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t k : {1, 63, 65})
    check<narrow, half>({.about = "filters that no copy stores", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t c : {8, 56, 136})
    check<narrow, half>({.about = "channels", .c = c, .h = 5, .w = 5, .k = 16, .geometry = padded(1)});
}
TEST(ConvOnHopper, StridesDilationsAsymmetricPadding) {
  check<narrow, half>({.about = "stride 2",
                       .n = 2,
                       .h = 15,
                       .w = 12,
                       .geometry = {.stride = {2, 2}, .pad = {1, 1, 1, 1}, .layout = ConvLayout::nhwc}});
  check<narrow, half>(
      {.about = "all of it",
       .n = 2,
       .c = 72,
       .h = 17,
       .w = 20,
       .k = 24,
       .r = 3,
       .s = 2,
       .geometry = {.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc}});
  check<square, bfloat16>({.about = "steps over the last pixels",
                           .n = 2,
                           .h = 9,
                           .w = 10,
                           .r = 1,
                           .s = 1,
                           .geometry = {.stride = {4, 8}, .layout = ConvLayout::nhwc}});
  check<narrow, half>(
      {.about = "padding alone", .n = 2, .h = 1, .w = 1, .k = 8, .r = 1, .s = 1, .geometry = padded(2)});
}
TEST(ConvOnHopper, FewChannelsAreWindows) {
  const ConvGeometry stem{.stride = {2, 2}, .pad = {3, 3, 3, 3}, .layout = ConvLayout::nhwc};
  check<narrow, half>({.about = "7x7", .n = 2, .c = 3, .h = 19, .w = 22, .r = 7, .s = 7, .geometry = stem});
  check<thin, bfloat16>({.about = "7x7, thin", .n = 2, .c = 3, .h = 19, .w = 22, .r = 7, .s = 7, .geometry = stem});
  check<narrow, half>({.about = "infinities stay",
                       .n = 2,
                       .c = 3,
                       .h = 13,
                       .w = 11,
                       .r = 7,
                       .s = 7,
                       .geometry = stem,
                       .special_values = true});
  check<square, bfloat16>({.about = "a channel", .n = 1, .c = 1, .h = 9, .w = 30, .k = 16, .r = 2, .s = 5});
  check<narrow, half>({.about = "nchw", .c = 3, .h = 9, .w = 30, .k = 8, .geometry = {.pad = {1, 0, 0, 2}}});
}
TEST(ConvOnHopper, WhatStartsAnywhereIsCopied) {
  check<narrow, half>({.about = "nchw", .n = 2, .c = 24, .h = 9, .w = 10, .k = 40, .geometry = {.pad = {1, 1, 1, 1}}});
  check<narrow, half>({.about = "odd channels", .n = 2, .c = 67, .h = 5, .w = 6, .k = 16, .geometry = padded(1)});
  check<narrow, half>({.about = "misaligned", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .offset = 1});
  check<narrow, half>({.about = "gaps of a unit", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 8});
  check<narrow, half>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
  check<narrow, half>({.about = "far padding",
                       .h = 2,
                       .w = 2,
                       .k = 8,
                       .r = 1,
                       .s = 1,
                       .geometry = {.stride = {8, 8}, .pad = {130, 0, 0, 1}, .layout = ConvLayout::nhwc}});
  check<narrow, half>({.about = "no pixels", .h = 0, .w = 3, .k = 8, .r = 2, .s = 2, .geometry = padded(2)});
}
TEST(ConvOnHopper, NaNAndInfinityAreWhereTheyBelong) {
  check<narrow, half>({.about = "72 channels",
                       .n = 2,
                       .c = 72,
                       .h = 6,
                       .w = 6,
                       .k = 24,
                       .geometry = padded(1),
                       .special_values = true});
}
TEST(ConvOnHopper, Epilogues) {
  const Case t{.about = "bias, relu", .n = 2, .h = 9, .w = 9, .k = 72, .r = 1, .s = 1, .bias = true};
  Case c = t;
  check<narrow, half>(c);
  c.epilogue.activation = Activation::relu;
  check<narrow, bfloat16>(c);
  check<wide, half>(c);
  c.residual = true;
  check<narrow, half>(c);
  c.epilogue.residual_first = true;
  check<square, half>(c);
  c.about = "nchw, 71 filters";
  c.geometry.layout = ConvLayout::nchw;
  c.k = 71;
  check<narrow, half>(c);
}

// ---- gradients ------------------------------------------------------------------------------------------------------

template <int I, class T> void check_gradient(const Case& t, int parts = 1) {
  SCOPED_TRACE(t.about);
  std::mt19937 bits(4);
  std::uniform_int_distribution<int> small(-2, 2);
  const auto filled = [&](std::int64_t n) {
    std::vector<T> v(static_cast<std::size_t>(n));
    for (T& e : v) e = T(static_cast<float>(small(bits)));
    return v;
  };
  const std::int64_t pitch = t.c + t.gap;  // of pixels
  std::vector<T> x = filled(t.n * t.h * t.w * pitch), w = filled(t.k * t.r * t.s * t.c);
  TensorView vx = view(x.data(), {t.n, t.h, t.w, t.c}), vw = view(w.data(), {t.k, t.r, t.s, t.c});
  vx.layout.stride = {t.h * t.w * pitch, t.w * pitch, pitch, 1};
  ConvGeometry last = t.geometry;
  last.layout = ConvLayout::nhwc;
  const auto shape = conv2d_shape(last, vx.layout, vw.layout);
  ASSERT_TRUE(shape.ok()) << shape.error().message();
  const std::int64_t oh = (*shape)[1], ow = (*shape)[2];
  std::vector<T> dy = filled(t.n * oh * ow * t.k), dx(x.size() + 16, T(untouched)), dw(w.size() + 16, T(untouched));
  const TensorView vdy = view(dy.data(), {t.n, oh, ow, t.k});
  const auto at = [](const TensorView& v, std::int64_t a, std::int64_t c, std::int64_t i, std::int64_t j) -> T& {
    const auto& s = v.layout.stride;
    return static_cast<T*>(v.data)[a * s[0] + i * s[1] + j * s[2] + c * s[3]];
  };
  if (t.special_values) {
    at(vx, 0, t.c - 1, 0, 0) = T(INFINITY);
    at(vdy, t.n - 1, 0, oh - 1, ow - 1) = T(NAN);
    at(vdy, 0, t.k - 1, 0, 0) = T(INFINITY);
    at(vw, t.k - 1, 0, 0, t.s - 1) = T(NAN);
  }
  TensorView vdx = view(dx.data(), {t.n, t.h, t.w, t.c});
  vdx.layout = vx.layout;
  const TensorView vdw = view(dw.data(), {t.k, t.r, t.s, t.c});
  // The same elements, with their axes in the layout's order.
  const auto named = [&](TensorView v) {
    const Layout from = v.layout;
    constexpr int axes[] = {0, 3, 1, 2};
    for (int i = 0; i < 4 && t.geometry.layout == ConvLayout::nchw; ++i) {
      v.layout.shape[i] = from.shape[axes[i]];
      v.layout.stride[i] = from.stride[axes[i]];
    }
    return v;
  };
  const ConvGradientTensors tensors{
      .dy = named(vdy), .x = named(vx), .w = named(vw), .dx = named(vdx), .dw = named(vdw)};
  auto problem = ConvProblem::of_gradient(tensors, t.geometry);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  DeviceInfo device;
  device.sms = 2;
  ConvPlan plan{*problem, device, I};
  plan.split = parts;
  const std::int64_t bytes = turned_filter_bytes(*problem) + parts * problem->w.count() * 4;
  std::vector<uint4> workspace(static_cast<std::size_t>(bytes) / 16 + 9, uint4{~0u, ~0u, ~0u, ~0u});
  // As the library has it, on 128 bytes.
  const auto address = (reinterpret_cast<std::uintptr_t>(workspace.data()) + 127) / 128 * 128;
  const Status status = launch_wgmma_gradient<Emulated<I>, T>({.plan = plan,
                                                               .x = x.data(),
                                                               .w = w.data(),
                                                               .bias = nullptr,
                                                               .residual = nullptr,
                                                               .dy = dy.data(),
                                                               .y = nullptr,
                                                               .dx = dx.data(),
                                                               .dw = dw.data(),
                                                               .workspace = reinterpret_cast<void*>(address),
                                                               .stream = {}});
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvGeometry& g = t.geometry;
  const ConvOracle oracle{.n = t.n,
                          .c = t.c,
                          .h = t.h,
                          .w = t.w,
                          .k = t.k,
                          .r = t.r,
                          .s = t.s,
                          .oh = oh,
                          .ow = ow,
                          .stride_h = g.stride.h,
                          .stride_w = g.stride.w,
                          .top = g.pad.top,
                          .left = g.pad.left,
                          .dilation_h = g.dilation.h,
                          .dilation_w = g.dilation.w,
                          .groups = 1,
                          .x = [&](auto n, auto c, auto i, auto j) { return double{float(at(vx, n, c, i, j))}; },
                          .filter = [&](auto k, auto c, auto a, auto b) { return double{float(at(vw, k, c, a, b))}; },
                          .dy = [&](auto n, auto k, auto i, auto j) { return double{float(at(vdy, n, k, i, j))}; }};
  const auto same = [](double want, T got) {
    return std::isnan(want) ? std::isnan(float(got)) : float(T(static_cast<float>(want))) == float(got);
  };
  for (std::int64_t n = 0; n < t.n; ++n)
    for (std::int64_t i = 0; i < t.h; ++i)
      for (std::int64_t j = 0; j < t.w; ++j)
        for (std::int64_t c = 0; c < t.c; ++c) {
          const double want = oracle.input_gradient(n, c, i, j).sum;
          ASSERT_TRUE(same(want, at(vdx, n, c, i, j)))
              << "dx " << n << " " << c << " " << i << " " << j << " " << want << " " << float(at(vdx, n, c, i, j));
        }
  for (std::int64_t k = 0; k < t.k; ++k)
    for (std::int64_t a = 0; a < t.r; ++a)
      for (std::int64_t b = 0; b < t.s; ++b)
        for (std::int64_t c = 0; c < t.c; ++c) {
          const double want = oracle.filter_gradient(k, c, a, b).sum;
          ASSERT_TRUE(same(want, at(vdw, k, c, a, b)))
              << "dw " << k << " " << c << " " << a << " " << b << " " << want << " " << float(at(vdw, k, c, a, b));
        }
  for (std::size_t i = 0; i < 16; ++i) {
    ASSERT_EQ(float(dx[dx.size() - 1 - i]), untouched);
    ASSERT_EQ(float(dw[dw.size() - 1 - i]), untouched);
  }
  ASSERT_EQ(workspace.back().x, ~0u);
}

TEST(ConvOnHopperGradient, TilesAndParts) {
  check_gradient<narrow, half>({.about = "a tile", .h = 8, .w = 8, .geometry = padded(1)});
  const Case t{.about = "144 pixels, 2x2", .n = 3, .c = 72, .h = 9, .w = 7, .k = 136, .r = 2, .s = 2};
  for (const int parts : {1, 2, 5}) check_gradient<square, bfloat16>(t, parts);
  check_gradient<wide, half>({.about = "many channels", .c = 264, .h = 3, .w = 5, .k = 8, .r = 1, .s = 1});
  check_gradient<ping_pong, half>({.about = "few", .n = 2, .c = 8, .h = 5, .w = 6, .k = 8, .geometry = padded(1)}, 2);
}
TEST(ConvOnHopperGradient, StridesDilationsAsymmetricPadding) {
  check_gradient<narrow, half>(
      {.about = "stride 2", .n = 2, .c = 16, .h = 11, .w = 12, .k = 24, .geometry = stride_of(2, 1)}, 2);
  check_gradient<narrow, half>({.about = "places that no tap meets",
                                .n = 2,
                                .c = 16,
                                .h = 9,
                                .w = 10,
                                .k = 8,
                                .r = 1,
                                .s = 1,
                                .geometry = stride_of(2, 0)});
  check_gradient<narrow, half>({.about = "such places, and more filters than a step",
                                .c = 8,
                                .h = 7,
                                .w = 8,
                                .k = 136,
                                .r = 2,
                                .s = 2,
                                .geometry = stride_of(3, 0),
                                .special_values = true});
  check_gradient<square, bfloat16>(
      {.about = "all of it",
       .n = 2,
       .c = 72,
       .h = 17,
       .w = 20,
       .k = 24,
       .r = 3,
       .s = 2,
       .geometry = {.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}, .layout = ConvLayout::nhwc}});
  check_gradient<narrow, half>(
      {.about = "more padding than taps", .c = 8, .h = 4, .w = 5, .k = 8, .r = 2, .s = 1, .geometry = padded(3)});
  check_gradient<narrow, half>({.about = "gaps of a unit", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 8});
}
TEST(ConvOnHopperGradient, ChannelsLieInnermostByStrides) {
  check_gradient<narrow, half>({.about = "nchw in name",
                                .n = 2,
                                .c = 72,
                                .h = 6,
                                .w = 5,
                                .k = 16,
                                .r = 3,
                                .s = 2,
                                .geometry = {.pad = {1, 1, 1, 1}}});
}
TEST(ConvOnHopperGradient, NaNAndInfinityAreWhereTheyBelong) {
  for (const std::int64_t stride : {1, 2})
    check_gradient<narrow, half>({.about = "72 channels",
                                  .n = 2,
                                  .c = 72,
                                  .h = 8,
                                  .w = 8,
                                  .k = 24,
                                  .geometry = stride_of(stride, 1),
                                  .special_values = true},
                                 2);
}

// ---- float32 as TF32, of which small whole numbers lose nothing -------------------------------------------------------

TEST(ConvOnHopperTf32, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 36, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  check<tf32_64, float>(t);
  check<tf32_128, float>(t);
  check<tf32_256, float>(t);
}
TEST(ConvOnHopperTf32, AroundTheTilesEdges) {
  for (const std::int64_t pixels : {127, 129, 257})
    check<tf32_64, float>({.about = "pixels", .h = 1, .w = pixels, .k = 64, .r = 1, .s = 1});
  for (const std::int64_t k : {4, 124, 132})
    check<tf32_128, float>({.about = "filters", .h = 3, .w = 5, .k = k, .r = 1, .s = 1});
  for (const std::int64_t c : {4, 28, 68})
    check<tf32_64, float>({.about = "channels", .c = c, .h = 5, .w = 5, .k = 16, .geometry = padded(1)});
}
TEST(ConvOnHopperTf32, WhatStartsAnywhereIsCopied) {
  check<tf32_64, float>(
      {.about = "nchw", .n = 2, .c = 24, .h = 9, .w = 10, .k = 41, .geometry = {.pad = {1, 1, 1, 1}}});
  check<tf32_128, float>({.about = "odd channels", .n = 2, .c = 35, .h = 5, .w = 6, .k = 17, .geometry = padded(1)});
  check<tf32_64, float>({.about = "windows",
                         .n = 2,
                         .c = 3,
                         .h = 13,
                         .w = 11,
                         .r = 7,
                         .s = 7,
                         .geometry = stride_of(2, 3),
                         .special_values = true});
  check<tf32_64, float>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
}
TEST(ConvOnHopperTf32, Epilogues) {
  Case c{.about = "bias, relu", .n = 2, .h = 9, .w = 9, .k = 72, .r = 1, .s = 1, .bias = true};
  c.epilogue.activation = Activation::relu;
  check<tf32_64, float>(c);
  c.residual = true;
  check<tf32_128, float>(c);
}

// ---- few channels ---------------------------------------------------------------------------------------------------

// An image of 32 columns has rows of 16 bytes whatever its channels are.
TEST(ConvOnHopperStem, PatchesAndTheirEdges) {
  check<stem_7, half>(
      {.about = "a patch", .c = 3, .h = 13, .w = 40, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 0)});
  for (const std::int64_t h : {7, 14, 15, 16, 23})
    check<stem_7, bfloat16>(
        {.about = "rows", .n = 3, .c = 3, .h = h, .w = 40, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  for (const std::int64_t w : {8, 32, 64, 72})
    check<stem_7, half>(
        {.about = "columns", .n = 2, .c = 3, .h = 9, .w = w, .k = 64, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  for (const std::int64_t k : {8, 56, 72, 136})
    check<stem_7, half>(
        {.about = "filters", .n = 2, .c = 3, .h = 9, .w = 32, .k = k, .r = 7, .s = 7, .geometry = stride_of(2, 3)});
  check<stem_7, half>({.about = "more patches than blocks",
                       .n = 7,
                       .c = 3,
                       .h = 33,
                       .w = 64,
                       .k = 8,
                       .r = 7,
                       .s = 7,
                       .geometry = stride_of(2, 3)});
}
TEST(ConvOnHopperStem, OtherWindows) {
  check<stem_7, half>({.about = "four channels",
                       .n = 2,
                       .c = 4,
                       .h = 9,
                       .w = 34,
                       .k = 16,
                       .r = 7,
                       .s = 5,
                       .geometry = stride_of(2, 3)});
  check<stem_7, bfloat16>(
      {.about = "a channel", .n = 2, .c = 1, .h = 11, .w = 40, .k = 16, .r = 7, .s = 17, .geometry = stride_of(2, 3)});
  check<stem_7, half>(
      {.about = "stride 1", .n = 2, .c = 4, .h = 11, .w = 22, .k = 16, .r = 7, .s = 6, .geometry = stride_of(1, 1)});
  check<stem_7, half>({.about = "asymmetric",
                       .n = 2,
                       .c = 2,
                       .h = 12,
                       .w = 36,
                       .k = 16,
                       .r = 7,
                       .s = 11,
                       .geometry = {.stride = {1, 3}, .pad = {0, 5, 130, 1}, .layout = ConvLayout::nhwc}});
}
TEST(ConvOnHopperStem, NaNAndInfinityAreWhereTheyBelong) {
  check<stem_7, half>({.about = "3 channels",
                       .n = 2,
                       .c = 3,
                       .h = 13,
                       .w = 48,
                       .k = 24,
                       .r = 7,
                       .s = 7,
                       .geometry = stride_of(2, 3),
                       .special_values = true});
}
TEST(ConvOnHopperStem, Epilogues) {
  Case c{.about = "bias",
         .n = 2,
         .c = 3,
         .h = 13,
         .w = 48,
         .k = 72,
         .r = 7,
         .s = 7,
         .geometry = stride_of(2, 3),
         .bias = true};
  check<stem_7, half>(c);
  c.epilogue.activation = Activation::relu;
  check<stem_7, bfloat16>(c);
}

// ---- multiply-adds of what the copy engine gathers ------------------------------------------------------------------

constexpr ConvGeometry nchw(std::int64_t n) { return {.pad = {n, n, n, n}}; }

TEST(ConvOnHopperFma, TilesCrossRowsAndImages) {
  const Case t{.about = "144 pixels", .n = 3, .c = 36, .h = 9, .w = 7, .k = 72, .r = 2, .s = 2};
  Case u = t;
  u.about = "nchw";
  u.geometry = nchw(1);
  check<fma_64, float>(t), check<fma_64, float>(u);
  check<fma_256, float>(t), check<fma_256, float>(u);
}
TEST(ConvOnHopperFma, AroundTheTilesEdges) {
  for (const std::int64_t pixels : {47, 49, 127, 129}) {
    const Case t{.about = "pixels", .c = 5, .h = 1, .w = pixels, .k = 7, .r = 1, .s = 1, .geometry = nchw(0)};
    check<fma_64, float>(t), check<fma_256, float>(t);
  }
  for (const std::int64_t k : {1, 63, 65, 129, 257}) {
    const Case t{.about = "filters", .c = 4, .h = 3, .w = 5, .k = k, .r = 1, .s = 1, .geometry = nchw(0)};
    check<fma_64, float>(t), check<fma_256, float>(t);
  }
  for (const std::int64_t c : {1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 65})
    check<fma_64, float>({.about = "channels", .n = 2, .c = c, .h = 5, .w = 13, .k = 9, .geometry = nchw(1)});
}
TEST(ConvOnHopperFma, StridesDilationsAsymmetricPadding) {
  const ConvGeometry g{.stride = {2, 3}, .dilation = {2, 3}, .pad = {0, 3, 4, 1}};
  ConvGeometry last = g;
  last.layout = ConvLayout::nhwc;
  check<fma_64, float>({.about = "nchw", .n = 2, .c = 18, .h = 17, .w = 20, .k = 24, .r = 3, .s = 2, .geometry = g});
  check<fma_256, float>(
      {.about = "nhwc", .n = 2, .c = 18, .h = 17, .w = 20, .k = 24, .r = 3, .s = 2, .geometry = last});
  check<fma_256, float>(
      {.about = "padding alone", .n = 2, .h = 1, .w = 1, .k = 8, .r = 1, .s = 1, .geometry = nchw(2)});
  check<fma_64, float>({.about = "far padding",
                        .h = 2,
                        .w = 2,
                        .k = 8,
                        .r = 1,
                        .s = 1,
                        .geometry = {.stride = {8, 8}, .pad = {130, 0, 0, 1}}});
  check<fma_64, float>({.about = "no pixels", .h = 0, .w = 3, .k = 8, .r = 2, .s = 2, .geometry = nchw(2)});
}
TEST(ConvOnHopperFma, FewChannelsAreWindows) {
  const ConvGeometry stem{.stride = {2, 2}, .pad = {3, 3, 3, 3}};
  for (const std::int64_t c : {1, 2, 3, 4})
    check<fma_64, float>({.about = "7x7", .n = 2, .c = c, .h = 19, .w = 22, .k = 20, .r = 7, .s = 7, .geometry = stem});
  check<fma_256, float>({.about = "infinities stay",
                         .n = 2,
                         .c = 3,
                         .h = 13,
                         .w = 11,
                         .r = 7,
                         .s = 7,
                         .geometry = stem,
                         .special_values = true});
}
TEST(ConvOnHopperFma, WhatStartsAnywhere) {
  check<fma_64, float>({.about = "misaligned", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .offset = 1});
  check<fma_64, float>({.about = "gaps of a unit", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 4});
  check<fma_64, float>({.about = "gaps", .h = 5, .w = 6, .k = 16, .geometry = padded(1), .gap = 3});
}
TEST(ConvOnHopperFma, NaNAndInfinityAreWhereTheyBelong) {
  check<fma_64, float>(
      {.about = "33 channels", .n = 2, .c = 33, .h = 6, .w = 6, .k = 24, .geometry = nchw(1), .special_values = true});
}
TEST(ConvOnHopperFma, Epilogues) {
  Case c{.about = "bias", .n = 2, .c = 20, .h = 9, .w = 9, .k = 71, .r = 1, .s = 1, .geometry = nchw(0), .bias = true};
  check<fma_64, float>(c);
  c.epilogue.activation = Activation::relu;
  check<fma_256, float>(c);
  c.residual = true;
  check<fma_64, float>(c);
  c.epilogue.residual_first = true;
  check<fma_256, float>(c);
}

}  // namespace
}  // namespace ridge::conv_detail
