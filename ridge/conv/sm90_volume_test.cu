// Hopper's rows for volumes: y, and the gradient of the filters.
#include <ridge/conv/problem_checks.hpp>
#include <ridge/conv/sm90_testing.cuh>

namespace ridge::conv_detail {
namespace {

struct Volumes {
  const char* about;
  std::int64_t n = 1, c = 64, d = 4, h = 5, w = 6, k = 64, t = 3, r = 3, s = 3;
  ConvGeometry geometry = {.layout = ConvLayout::nhwc};
  int gap = 0;                    // elements between pixels of x
  bool filters_in_front = false;  // channels are the filters' second axis: they are copied
  bool special_values = false;
  int each = 1;           // filters are every so many-th tap of others, along each axis
  bool reversed = false;  // filters' taps lie in reverse order
  bool y_planes = false;  // y's channels lie apart
};
constexpr ConvGeometry padded_all(std::int64_t n) {
  return {.pad = {n, n, n, n}, .depth = {.front = n, .back = n}, .layout = ConvLayout::nhwc};
}

constexpr ConvGeometry all_geometry{.stride = {2, 3},
                                    .dilation = {2, 1},
                                    .pad = {0, 3, 4, 1},
                                    .depth = {.stride = 2, .dilation = 3, .front = 3, .back = 1},
                                    .layout = ConvLayout::nhwc};
// Each axis differs from the others in all ways.
constexpr Volumes all_of_it(std::int64_t channels) {
  return {
      .about = "all of it", .n = 2, .c = channels, .d = 9, .h = 10, .w = 11, .k = 24, .r = 2, .geometry = all_geometry};
}

template <class T> struct Made {
  std::vector<T> x, w;
  TensorView vx, vw;
  std::vector<std::int64_t> y_shape;

  explicit Made(const Volumes& t) {
    std::mt19937 bits(5);
    const std::int64_t pitch = t.c + t.gap;
    x = filled<T>(bits, t.n * t.d * t.h * t.w * pitch);
    const std::int64_t slices = t.t * t.each, rows = t.r * t.each, columns = t.s * t.each;
    w = filled<T>(bits, t.k * slices * rows * columns * t.c);
    vx = view(x.data(), {t.n, t.d, t.h, t.w, t.c});
    vx.layout.stride = {t.d * t.h * t.w * pitch, t.h * t.w * pitch, t.w * pitch, pitch, 1};
    vw = view(w.data(), {t.k, t.t, t.r, t.s, t.c});
    const std::int64_t taps = slices * rows * columns, plane = rows * columns * t.c, row = columns * t.c;
    if (t.filters_in_front) vw.layout.stride = {t.c * taps, t.r * t.s, t.s, 1, taps};
    else vw.layout.stride = {t.c * taps, t.each * plane, t.each * row, t.each * t.c, 1};
    if (t.reversed) {
      vw.data = w.data() + (t.t - 1) * vw.layout.stride[1] + (t.r - 1) * vw.layout.stride[2] +
                (t.s - 1) * vw.layout.stride[3];
      for (const int axis : {1, 2, 3}) vw.layout.stride[axis] *= -1;
    }
    y_shape = *conv2d_shape(t.geometry, vx.layout, vw.layout);
    if (!t.special_values) return;
    x.front() = T(INFINITY);
    x.back() = T(NAN);
    w.back() = T(INFINITY);
  }
  std::int64_t outputs() const { return y_shape[0] * y_shape[1] * y_shape[2] * y_shape[3] * y_shape[4]; }
  TensorView like_y(std::vector<T>& v, bool planes = false) const {
    TensorView y = view(v.data(), {y_shape[0], y_shape[1], y_shape[2], y_shape[3], y_shape[4]});
    const std::int64_t plane = y_shape[2] * y_shape[3], volume = y_shape[1] * plane;
    if (planes) y.layout.stride = {y_shape[4] * volume, plane, y_shape[3], 1, volume};
    return y;
  }
  ConvOracle oracle(const ConvProblem& p, const T* dy = nullptr) const {
    return oracle_of<T>(p, x.data(), static_cast<const T*>(vw.data), dy);
  }
};

// slices: of split-K, at most.
template <int I, class T> void check(const Volumes& t, int slices = 1) {
  SCOPED_TRACE(t.about);
  Made<T> made(t);
  std::mt19937 bits(6);
  std::vector<T> y(static_cast<std::size_t>(made.outputs()) + behind, T(untouched));
  std::vector<T> bias = filled<T>(bits, t.k), residual = filled<T>(bits, made.outputs());
  const ConvTensors tensors{.x = made.vx,
                            .w = made.vw,
                            .y = made.like_y(y, t.y_planes),
                            .bias = view(bias.data(), {t.k}),
                            .residual = made.like_y(residual, t.y_planes)};
  auto problem = ConvProblem::of(tensors, t.geometry, {.activation = Activation::relu, .residual_first = true});
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  problem->alignment = 16;
  if (variants[I].config.tf32) problem->math = ConvMath::tf32;
  ASSERT_EQ(family_of(variants[I]).fits(variants[I], {*problem}, *device_model("H200")), "");
  ConvPlan plan = plan_of(*problem, I);
  take_slices(plan, slices);
  Bench bench(plan);
  const Arguments args{.plan = bench.plan,
                       .x = made.x.data(),
                       .w = made.vw.data,
                       .bias = bias.data(),
                       .residual = residual.data(),
                       .y = y.data(),
                       .workspace = bench.workspace()};
  const Status status = [&] {
    if constexpr (variants[I].config.algorithm == Algorithm::fma) return fma::launch<Policy<I>, true>(args);
    else return wgmma::launch_forward<Emulated<I>, T, true>(args);
  }();
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = made.oracle(*problem);
  expect("y", y, problem->y, [&](std::int64_t n, std::int64_t k, auto... place) {
    const double added = double{float(at(residual.data(), *problem->residual, n, k, place...))};
    const double sum = oracle.output(n, k, place...).sum + double{float(bias[static_cast<std::size_t>(k)])} + added;
    return sum < 0 ? 0 : sum;
  });
  ASSERT_TRUE(bench.is_intact());
}

template <int I, class T> void check_filter_gradient(const Volumes& t, int parts = 1) {
  SCOPED_TRACE(t.about);
  Made<T> made(t);
  std::mt19937 bits(7);
  std::vector<T> dy = filled<T>(bits, made.outputs()), dw(made.w.size() + behind, T(untouched));
  TensorView vdw = made.vw;
  vdw.data = dw.data();
  auto problem = ConvProblem::of_gradient({.dy = made.like_y(dy), .x = made.vx, .w = made.vw, .dw = vdw}, t.geometry);
  ASSERT_TRUE(problem.ok()) << problem.error().message();
  problem->alignment = 16;
  ASSERT_EQ(wgmma::fits(variants[I], {*problem}, *device_model("H200")), "");
  ConvPlan plan = plan_of(*problem, I);
  plan.split = parts;
  plan.workspace = static_cast<std::size_t>(parts * problem->w.count() * 4);
  Bench bench(plan);
  const Status status = wgmma::launch_filter_gradient<T, true>(
      {.plan = bench.plan, .x = made.x.data(), .dy = dy.data(), .dw = dw.data(), .workspace = bench.workspace()});
  ASSERT_TRUE(status.ok()) << status.message();
  const ConvOracle oracle = made.oracle(*problem, dy.data());
  expect("dw", dw, *problem->dw, [&](auto... place) { return oracle.filter_gradient(place...).sum; });
  ASSERT_TRUE(bench.is_intact());
}

// Tiles of 128 pixels cross rows, slices and volumes.
TEST(VolumesOnHopper, TilesCrossRowsSlicesAndVolumes) {
  check<wgmma_64, half>({.about = "3x3x3", .n = 2, .geometry = padded_all(1)});
  const Volumes t{.about = "2x2x2", .n = 3, .c = 72, .d = 4, .h = 5, .w = 6, .k = 72, .t = 2, .r = 2, .s = 2};
  check<wgmma_128, bfloat16>(t);
  check<wgmma_128_ping_pong, half>(t);
  check<wgmma_192, bfloat16>(t);
  check<wgmma_256, half>(t);
}
TEST(VolumesOnHopper, StridesDilationsAndPaddingOfEachAxis) {
  check<wgmma_64, half>({.about = "causal, taps along the depth alone",
                         .n = 2,
                         .r = 1,
                         .s = 1,
                         .geometry = {.depth = {.front = 2}, .layout = ConvLayout::nhwc}});
  check<wgmma_64, half>(
      {.about = "slices of taps 1", .n = 2, .t = 1, .geometry = {.pad = {1, 1, 1, 1}, .layout = ConvLayout::nhwc}});
  check<wgmma_64, bfloat16>(all_of_it(72));
  check<wgmma_64, half>({.about = "steps over the last slices",
                         .n = 2,
                         .d = 7,
                         .t = 1,
                         .r = 1,
                         .s = 1,
                         .geometry = {.stride = {3, 4}, .depth = {.stride = 5}, .layout = ConvLayout::nhwc}});
}
TEST(VolumesOnHopper, FiltersAreCopiedWhereTheirChannelsAreApart) {
  check<wgmma_64, half>({.about = "kctrs", .c = 40, .k = 24, .geometry = padded_all(1), .filters_in_front = true});
  check<wgmma_64, half>({.about = "pixels apart", .c = 40, .k = 24, .geometry = padded_all(1), .gap = 8});
}
// As the gradient of x hands them over, for each phase of a stride (flipped.hpp).
TEST(VolumesOnHopper, EverySecondTap) {
  for (const std::int64_t taps : {1, 2, 3})
    for (const int slices : {1, 4})
      check<wgmma_64, half>({.about = "all axes",
                             .n = 2,
                             .c = 72,
                             .d = 5,
                             .k = 24,
                             .t = taps,
                             .r = taps,
                             .s = taps,
                             .geometry = padded_all(1),
                             .each = 2},
                            slices);
  for (const int each : {1, 3})
    for (const bool y_planes : {false, true}) {
      const Volumes row{.about = "a row",
                        .n = 2,
                        .c = 40,
                        .k = 24,
                        .t = 2,
                        .r = 1,
                        .geometry = padded_all(1),
                        .each = each,
                        .y_planes = y_planes};
      check<wgmma_64, half>(row);
      check<fma_64, float>(row);
    }
}
TEST(VolumesOnHopper, ReversedTaps) {
  check<fma_64, float>({.about = "reversed", .n = 2, .c = 40, .k = 24, .geometry = padded_all(1), .reversed = true});
  check<wgmma_64, half>({.about = "reversed", .n = 2, .c = 40, .k = 24, .geometry = padded_all(1), .reversed = true});
  check<fma_64, float>({.about = "planes", .n = 2, .c = 40, .k = 24, .geometry = padded_all(1), .y_planes = true});
}
TEST(VolumesOnHopper, SlicesOfTheSumAndInfinities) {
  const Volumes t{.about = "slices", .n = 2, .c = 136, .d = 3, .h = 4, .w = 5, .k = 40, .geometry = padded_all(1)};
  for (const int slices : {2, 5, 16}) check<wgmma_64, half>(t, slices);
  check<wgmma_64, half>(
      {.about = "infinities", .n = 2, .c = 8, .k = 8, .geometry = padded_all(1), .special_values = true});
}
TEST(VolumesOnHopper, Float32ByMultiplyAddsAndAsTf32) {
  const Volumes in_front{
      .about = "kctrs", .n = 2, .c = 40, .k = 68, .geometry = padded_all(1), .filters_in_front = true};
  for (const Volumes& t : {all_of_it(36), in_front}) {
    for (const int slices : {1, 3}) check<fma_64, float>(t, slices);
    check<fma_128, float>(t);
    check<fma_256, float>(t);
    for (const int slices : {1, 3}) check<tf32_64, float>(t, slices);
    check<tf32_128, float>(t);
    check<tf32_256, float>(t);
  }
  check<fma_64, float>(
      {.about = "infinities", .n = 2, .c = 8, .k = 8, .geometry = padded_all(1), .special_values = true});
}
TEST(VolumesOnHopper, GradientOfTheFilters) {
  for (const int parts : {1, 3})
    check_filter_gradient<wgmma_64, half>({.about = "3x3x3", .n = 2, .c = 16, .k = 24, .geometry = padded_all(1)},
                                          parts);
  check_filter_gradient<wgmma_128, bfloat16>(all_of_it(72));
}
// What the engine cannot walk is refused, and runs by other rows.
TEST(VolumesOnHopper, WhatTheEngineCannotWalkIsRefused) {
  const auto why = [](const ConvGeometry& g) {
    std::vector<half> none(1);
    const auto at = [&](std::initializer_list<std::int64_t> shape) { return view(none.data(), shape); };
    const bool last = g.layout == ConvLayout::nhwc;
    const TensorView x = last ? at({1, 40, 40, 40, 64}) : at({1, 64, 40, 40, 40});
    const TensorView w = last ? at({64, 3, 3, 3, 64}) : at({64, 64, 3, 3, 3});
    const auto shape = *conv2d_shape(g, x.layout, w.layout);
    ConvProblem p{.dtype = f16, .geometry = g, .axes = 3};
    p.x = canonical(x.layout, g.layout);
    p.w = canonical(w.layout, g.layout);
    p.y = canonical(Layout::contiguous(shape), g.layout);
    return wgmma::fits(variants[wgmma_64], {p}, *device_model("H200"));
  };
  EXPECT_EQ(why(padded_all(1)), "");
  EXPECT_EQ(why(padded_all(16)), "");
  const std::string corners =
      "it takes volumes with padding in front of 16 at most, and behind of what a filter reaches, give or take 15";
  const auto along_d = [](ConvDepth d) -> ConvGeometry { return {.depth = d, .layout = ConvLayout::nhwc}; };
  EXPECT_EQ(why(along_d({.front = 17})), corners);
  EXPECT_EQ(why(along_d({.back = 17})), "");
  EXPECT_EQ(why(along_d({.back = 18})), corners);
  EXPECT_EQ(why(along_d({.dilation = 8})), "");
  EXPECT_EQ(why(along_d({.dilation = 9})), corners);
  EXPECT_EQ(why(along_d({.dilation = 15, .front = 15, .back = 15})), "");
  EXPECT_EQ(why(along_d({.dilation = 16, .front = 16, .back = 16})), corners);  // a tap 32 from the first
  EXPECT_EQ(why(along_d({.stride = 9})), "it is for strides of at most 8");
  EXPECT_EQ(why({.layout = ConvLayout::nchw}),
            "it takes volumes with channels innermost, whose pixels start on 16 bytes");
}

}  // namespace
}  // namespace ridge::conv_detail
