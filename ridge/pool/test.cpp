#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/op.hpp>
#include <ridge/pool/problem.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using pool_detail::variants;

const check::TestCasesOf cases{"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"};

constexpr PoolWindow three{.size = {3, 3}, .pad = {1, 1}};
constexpr PoolWindow three_by_two{.size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}};

std::string chosen(const PoolProblem& p) {
  auto plan = plan_pool(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}
PoolProblem problem(const PoolWindow& window, PoolLayout layout = PoolLayout::nchw, DType dtype = f32) {
  return *PoolProblem::contiguous(Pool::max, dtype, window, layout, 32, 64, 112, 112);
}

TEST(PoolPlan, WindowsOfTheTableAreMadeInRegisters) {
  EXPECT_EQ(chosen(problem(three)), "tile_3x3s1");
  EXPECT_EQ(chosen(problem(three_by_two)), "tile_3x3s2");
  EXPECT_EQ(chosen(problem({.size = {2, 2}, .stride = {2, 2}})), "tile_2x2s2");
  EXPECT_EQ(chosen(problem(three, PoolLayout::nhwc, bf16)), "channels_3x3s1");
  EXPECT_EQ(chosen(problem(three_by_two, PoolLayout::nhwc, bf16)).substr(0, 12), "channels_3x3");
  EXPECT_EQ(chosen(problem({.size = {2, 2}}, PoolLayout::nhwc)), "channels");
}

TEST(PoolPlan, OtherWindowsGoThroughSharedMemoryAsFarAsTheyFitThere) {
  EXPECT_EQ(chosen(problem({.size = {5, 5}, .pad = {2, 2}})), "shared");
  EXPECT_EQ(chosen(problem({.size = {5, 5}, .stride = {100, 100}, .pad = {2, 2}})), "naive");
}

TEST(PoolPlan, RowsThatStartAnywhereAreMadeInRegistersToo) {
  PoolProblem p = problem(three);
  p.align_x = 4;
  EXPECT_EQ(chosen(p), "column_3x3s1");
  EXPECT_EQ(chosen(problem({.size = {3, 3}, .stride = {2, 2}})), "column_3x3s2");  // no padding
}

TEST(PoolPlan, WorkThatThirtyOneBitsDoNotCountIsLeftToOtherRows) {
  auto p = PoolProblem::contiguous(Pool::max, bf16, three, PoolLayout::nchw, 1 << 9, 1 << 10, 1 << 9, 1 << 9);
  EXPECT_EQ(chosen(*p), "shared");  // 2^37 outputs: 2^32 threads of 32 at least, and 2^28 blocks of 512
  p = PoolProblem::contiguous(Pool::max, bf16, three, PoolLayout::nchw, 1 << 18, 1 << 18, 1 << 9, 1 << 9);
  EXPECT_NE(chosen(*p).find("y.shape is"), std::string::npos);
}

TEST(PoolWindow, NumbersOfWindowsAreRoundedAsAsked) {
  const auto outputs = [](PoolWindow window, std::int64_t h, std::int64_t w, bool ceil_mode) {
    window.ceil_mode = ceil_mode;
    return pool_detail::text(window.outputs(h, w));
  };
  const PoolWindow halves{.size = {2, 2}, .stride = {2, 2}};
  EXPECT_EQ(outputs(halves, 7, 8, false), "3x4");
  EXPECT_EQ(outputs(halves, 7, 8, true), "4x4");
  // A third window would begin at 8, behind 6 inputs and one above them, but not behind 8 and one on their left.
  const PoolWindow far{.size = {2, 2}, .stride = {4, 4}, .pad = {1, 1}};
  EXPECT_EQ(outputs(far, 6, 8, true), "2x3");
  EXPECT_EQ(outputs(far, 6, 8, false), "2x3");
  EXPECT_EQ(outputs({.size = {2, 2}, .stride = {3, 3}, .pad = {0, 1}}, 3, 5, true), "1x2");
  EXPECT_EQ(outputs({.size = {3, 3}, .stride = {2, 2}, .pad = {0, 0, 1, 1}}, 8, 9, false), "4x4");
  EXPECT_EQ(outputs({.size = {3, 3}, .stride = {2, 2}, .pad = {1, 0, 0, 2}}, 8, 9, false), "4x5");
}

TEST(PoolWindow, PaddingOfTwoNumbersIsOnBothSides) {
  EXPECT_EQ((PoolPad{1, 2}), (PoolPad{1, 2, 1, 2}));
  EXPECT_EQ(pool_detail::text(PoolPad{1, 2}), "1x2");
  EXPECT_EQ(pool_detail::text(PoolPad{1, 2, 1, 0}), "1,2,1,0");
}

TEST(PoolPlan, PaddingBehindTheInputChangesNoRow) {
  EXPECT_EQ(chosen(problem({.size = {3, 3}, .pad = {1, 1, 2, 2}})), "tile_3x3s1");
  EXPECT_EQ(chosen(problem({.size = {3, 3}, .stride = {2, 2}, .pad = {0, 0, 1, 1}})), "column_3x3s2");
  EXPECT_EQ(chosen(problem({.size = {2, 2}, .stride = {2, 2}, .ceil_mode = true})), "tile_2x2s2");
}

TEST(PoolPlan, TheDivisorIsClippedOnlyWhereWindowsReachBeyondPadding) {
  const auto of = [](Pool function, const PoolWindow& window, std::int64_t h) {
    return *PoolProblem::contiguous(function, f32, window, PoolLayout::nchw, 1, 1, h, 16);
  };
  const PoolWindow padded{.size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .ceil_mode = true};
  const PoolWindow bare{.size = {3, 3}, .stride = {2, 2}, .ceil_mode = true};
  EXPECT_TRUE(pool_detail::clips(of(Pool::avg, padded, 8)));
  EXPECT_FALSE(pool_detail::clips(of(Pool::max, padded, 8)));
  EXPECT_FALSE(pool_detail::clips(of(Pool::avg, bare, 8)));  // it counts inputs
  EXPECT_FALSE(pool_detail::counts_padding(of(Pool::avg, bare, 8)));
  EXPECT_TRUE(pool_detail::counts_padding(of(Pool::avg, {.size = {3, 3}, .stride = {2, 2}}, 8)));
  EXPECT_NE(chosen(of(Pool::avg, padded, 8)).substr(0, 4), "tile");
}

TEST(PoolPlan, AdaptiveWindowsOfOneSizeAreThoseOfAStride) {
  const auto of = [](PoolPair size, PoolLayout layout, std::int64_t h) {
    return *PoolProblem::contiguous(Pool::adaptive_avg, bf16, {.size = size}, layout, 32, 512, h, h);
  };
  EXPECT_EQ(chosen(of({8, 8}, PoolLayout::nchw, 16)), "tile_2x2s2");
  EXPECT_EQ(chosen(of({7, 7}, PoolLayout::nhwc, 14)), "channels");
  EXPECT_EQ(chosen(of({7, 7}, PoolLayout::nchw, 15)), "adaptive");
  EXPECT_EQ(chosen(of({7, 7}, PoolLayout::nhwc, 15)), "adaptive_channels");
  EXPECT_EQ(chosen(of({1, 1}, PoolLayout::nchw, 7)).substr(0, 7), "global_");
  EXPECT_EQ(chosen(of({1, 1}, PoolLayout::nchw, 112)).substr(0, 7), "global_");
  EXPECT_EQ(chosen(of({1, 1}, PoolLayout::nhwc, 7)), "global_channels");
}

PoolProblem gradient(PoolProblem p) {
  p.backward = true;
  if (p.function == Pool::max) p.value_x = p.x, p.value_y = p.y;
  return p;
}

TEST(PoolPlan, GradientsHaveRowsOfTheirOwn) {
  EXPECT_EQ(chosen(gradient(problem(three))), "gradient_rows_3x3s1");
  EXPECT_EQ(chosen(gradient(problem(three_by_two))), "gradient_rows_3x3s2");
  EXPECT_EQ(chosen(gradient(problem({.size = {2, 2}, .stride = {2, 2}}, PoolLayout::nhwc, bf16))),
            "gradient_channels_2x2s2");
  EXPECT_EQ(chosen(gradient(problem(three_by_two, PoolLayout::nhwc, bf16))), "gradient_channels_3x3s2");
  EXPECT_EQ(chosen(gradient(problem({.size = {5, 5}, .pad = {2, 2}}, PoolLayout::nhwc))), "gradient_channels");
  PoolProblem p = gradient(problem(three));
  p.align_values = 4;  // x starts anywhere
  EXPECT_EQ(chosen(p), "gradient");
  p.function = Pool::avg;
  p.value_x = p.value_y = {};
  EXPECT_EQ(chosen(p), "gradient_rows_3x3s1");
  EXPECT_EQ(p.text(), "f32 32x64x112x112 window 3x3 stride 1x1 pad 1x1 backward");
}

TEST(PoolPlan, ARefusalSaysWhy) {
  auto p = PoolProblem::contiguous(Pool::max, f32, {.size = {5, 3}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "max_pool2d: window is of extent 5x3; it must be within the padded input, 4x8");
  p = PoolProblem::contiguous(Pool::max, f32, {.size = {2, 2}, .stride = {0, 1}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "max_pool2d: stride is 0x1; it must be at least 1 and below 2^30");
  p = PoolProblem::contiguous(Pool::max, f32, {.size = {2, 2}, .pad = {2, 0}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "max_pool2d: pad is 2x0; it must be below the window's extent, 2x2");
  p = PoolProblem::contiguous(Pool::avg, f32, {.size = {2, 2}, .dilation = {2, 2}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "avg_pool2d: dilation is 2x2; it must be 1: a mean has no dilation");
  p = PoolProblem::contiguous(Pool::max, f32, {.size = {2, 2}, .pad = {0, 0, 2, 0}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "max_pool2d: pad is 0,0,2,0; it must be below the window's extent, 2x2");
  p = PoolProblem::contiguous(Pool::adaptive_avg, f32, {.size = {0, 2}}, PoolLayout::nchw, 1, 1, 4, 8);
  EXPECT_EQ(p.error().message(), "adaptive_avg_pool2d: size is 0x2; it must be at least 1 and below 2^30");
  auto plan =
      plan_pool(*PoolProblem::contiguous(Pool::max, i32, three, PoolLayout::nchw, 1, 1, 4, 8), *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "max_pool2d: dtype is i32; it must be one of f32 f16 bf16");
  plan = plan_pool(problem(three), *device_model("H200"), {.variant = "tile_3x3s2"});
  EXPECT_EQ(plan.error().message(),
            "max_pool2d: variant is tile_3x3s2; it must be another one here: the stride is not 2");
  plan = plan_pool(gradient(problem(three)), *device_model("H200"), {.variant = "tile_3x3s1"});
  EXPECT_EQ(plan.error().message(),
            "max_pool2d: variant is tile_3x3s1; it must be another one here: it has no gradient");
  plan = plan_pool(problem(three), *device_model("H200"), {.variant = "gradient"});
  EXPECT_EQ(plan.error().message(), "max_pool2d: variant is gradient; it must be another one here: it is of gradients");
}

TEST(Pool, OneLine) {
  std::vector<float> x{1, 2, 3, 4, 5, 6, 7, NAN, 9}, y(4), mean(4);
  max_pool2d(view(x.data(), {1, 1, 3, 3}), view(y.data(), {1, 1, 2, 2}), {.size = {2, 2}});
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 6);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_TRUE(std::isnan(y[3]));
  avg_pool2d(view(x.data(), {1, 1, 3, 3}), view(mean.data(), {1, 1, 2, 2}), {.size = {2, 2}});
  EXPECT_EQ(mean[0], 3);
  EXPECT_EQ(mean[1], 4);
}

TEST(Pool, OneLineOfAdaptiveWindows) {
  std::vector<float> x{1, 2, 3, 4, 5, 6}, y(2), all(1);
  adaptive_avg_pool2d(view(x.data(), {1, 1, 2, 3}), view(y.data(), {1, 1, 1, 2}));  // columns 0 to 1, and 1 to 2
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 4);
  adaptive_avg_pool2d(view(x.data(), {1, 1, 2, 3}), view(all.data(), {1, 1, 1, 1}));
  EXPECT_EQ(all[0], 3.5f);
}

TEST(Pool, AGradientGoesToTheFirstMaximum) {
  // Three windows of a row: of equal values, of NaN among numbers, of two NaN.
  std::vector<float> x{7, 7, 1, NAN, NAN, NAN}, y(3), dy{10, 20, 30}, dx(6);
  const PoolWindow pairs{.size = {1, 2}, .stride = {1, 2}};
  max_pool2d(view(x.data(), {1, 1, 1, 6}), view(y.data(), {1, 1, 1, 3}), pairs);
  max_pool2d_gradient(view(dy.data(), {1, 1, 1, 3}), view(x.data(), {1, 1, 1, 6}), view(y.data(), {1, 1, 1, 3}),
                      view(dx.data(), {1, 1, 1, 6}), pairs);
  EXPECT_EQ(dx, (std::vector<float>{10, 0, 0, 20, 30, 0}));
}

TEST(Pool, AGradientOfMeansIsShared) {
  std::vector<float> dy{12, 6}, dx(3);
  avg_pool2d_gradient(view(dy.data(), {1, 1, 1, 2}), view(dx.data(), {1, 1, 1, 3}), {.size = {1, 2}});
  EXPECT_EQ(dx, (std::vector<float>{6, 9, 3}));
  // Of 2 windows' padding only what is asked for counts.
  const PoolWindow edges{.size = {1, 2}, .stride = {1, 2}, .pad = {0, 1}, .count_include_pad = false};
  avg_pool2d_gradient(view(dy.data(), {1, 1, 1, 2}), view(dx.data(), {1, 1, 1, 3}), edges);
  EXPECT_EQ(dx, (std::vector<float>{12, 3, 3}));
  adaptive_avg_pool2d_gradient(view(dy.data(), {1, 1, 1, 2}), view(dx.data(), {1, 1, 1, 3}));
  EXPECT_EQ(dx, (std::vector<float>{6, 9, 3}));
}

TEST(Pool, ByNameAGradientIsToldTheSizeOfX) {
  const OpInfo& op = **find_op("avg_pool2d");
  std::vector<float> dy{4, 8};
  const TensorView in[] = {view(dy.data(), {1, 1, 1, 2})};
  const auto infer = [&](Options options) {
    options.set("r", "1");
    options.set("s", "2");
    options.set("stride", "1,2");
    return infer_op(op, in, options);
  };
  auto types = infer({{"backward", "1"}, {"h", "1"}, {"w", "5"}});
  ASSERT_TRUE(types) << types.error().message();
  EXPECT_EQ((*types)[0].shape, (std::vector<std::int64_t>{1, 1, 1, 5}));
  types = infer({{"backward", "1"}, {"h", "1"}});
  EXPECT_EQ(types.error().message(),
            "avg_pool2d: w is missing; it must be given: a gradient's dy does not tell the size of x");
  types = infer({{"w", "3"}});
  EXPECT_EQ(types.error().message(), "avg_pool2d: w is 3; it must be that of x, 2");
  const OpInfo& max = **find_op("max_pool2d");
  EXPECT_EQ(input_names(max, {{"backward", "1"}}, 3)->size(), 3u);
  EXPECT_EQ(input_names(max, {{"backward", "1"}}, 1).error().message(),
            "max_pool2d: the number of inputs is 1; it must be 3 (dy, x, y)");
}

TEST(Pool, OverlapIsRefused) {
  std::vector<float> x(100);
  EXPECT_THROW(max_pool2d(view(x.data(), {1, 1, 8, 8}), view(x.data(), {1, 1, 8, 8}), three), Error);
}

TEST(Pool, ImagesThatAreNotEvenlySpaced) {  // every image keeps 2 of 3 channels: planes have two steps
  std::vector<float> x(2 * 3 * 8 * 8), y(2 * 2 * 4 * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 64);
  TensorView some = view(x.data(), {2, 2, 8, 8});
  some.layout.stride[0] = 3 * 64;
  max_pool2d(some, view(y.data(), {2, 2, 4, 4}), {.size = {2, 2}, .stride = {2, 2}});
  for (int plane = 0; plane < 4; ++plane)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) EXPECT_EQ(y[(plane * 4 + i) * 4 + j], (2 * i + 1) * 8 + 2 * j + 1);
}

TEST(Divider, IsTheDivision) {
  for (std::int64_t d : {1, 2, 3, 5, 7, 28, 112, 641, 65535, 65536, 65537, 0x3fffffff, 0x40000000, 0x7fffffff}) {
    const Divider divide(d);
    for (std::int64_t n : {std::int64_t{0}, std::int64_t{1}, d - 1, d, d + 1, 2 * d - 1, 2 * d,
                           Divider::limit / d * d - 1, Divider::limit / d * d, Divider::limit - 1})
      if (n < Divider::limit) {
        EXPECT_EQ(divide(static_cast<std::uint32_t>(n)), n / d) << n << " / " << d;
      }
  }
}

}  // namespace
}  // namespace ridge
