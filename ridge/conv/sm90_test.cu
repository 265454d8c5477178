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
  const auto workspace_bytes = static_cast<std::size_t>(gathering_of(*problem, variants[I].config.step).bytes());
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

// ---- multiply-adds of what the copy engine gathers -----------------------------------------------------------------------

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
