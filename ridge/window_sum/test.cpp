#include <ridge/check/gtest_cases.hpp>
#include <ridge/window_sum/variants.hpp>
#include <ridge/window_sum/window_sum.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using window_sum_detail::variants;

const check::TestCasesOf cases{"window_sum"};

std::string chosen(const WindowSumProblem& p) {
  auto plan = plan_window_sum(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(WindowSumPlan, WindowsOfHundredsOfMillionsAreWide) {
  for (const std::int64_t w : {std::int64_t{536870913}, std::int64_t{536870915}, std::int64_t{4000000001}})
    EXPECT_EQ(chosen({.rows = 1, .n = 2000000000, .w = w}), "wide") << w;
}

// No kernel could read data that is not aligned to its elements' size.
TEST(WindowSumPlan, RefusesDataOffItsElementsSize) {
  alignas(16) char bytes[64] = {};
  const TensorView off = view(reinterpret_cast<float*>(bytes + 2), {8});
  EXPECT_EQ(WindowSumProblem::of(off, off, 3).error().message(),
            "window_sum: x.data is misaligned; it must be aligned to its elements' size");
}

TEST(WindowSumPlan, NarrowWindowsStayInRegistersAndOthersGoByPieces) {
  EXPECT_EQ(chosen({.rows = 1, .n = 1 << 28, .w = 9}), "neighbours");
  EXPECT_TRUE(chosen({.rows = 1, .n = 1 << 28, .w = 63}).starts_with("pieces"));
  EXPECT_EQ(chosen({.rows = 1, .n = 1 << 28, .w = 4097, .dtype = bf16}), "pieces_4k");
  EXPECT_EQ(chosen({.rows = 65536, .n = 1024, .w = 31}), "pieces_1k");
}

TEST(WindowSumPlan, WideWindowsAreOfSumsMadeFirst) {
  const WindowSumProblem p{.rows = 1, .n = 1 << 24, .w = (1 << 20) + 1};
  EXPECT_EQ(chosen(p), "wide");
  EXPECT_EQ(chosen({.rows = 1, .n = 1 << 28, .w = 16385, .dtype = bf16}), "wide");
  EXPECT_EQ(chosen({.rows = 1, .n = 1 << 28, .w = 8193, .dtype = bf16}), "pieces_4k");
  EXPECT_EQ(plan_window_sum(p, *device_model("H200"))->workspace_bytes(), (1 << 24) / 256 * sizeof(float));
}

TEST(WindowSumPlan, WhatSharedMemoryDoesNotHoldIsReadAgain) {
  WindowSumProblem p{.rows = 8, .n = 64, .w = 63, .x = Rows::contiguous(8, 64)};
  p.x->step = 2;
  EXPECT_EQ(chosen(p), "shared");
}

TEST(WindowSumPlan, ARefusalSaysWhy) {
  EXPECT_EQ(chosen({.rows = 1, .n = 8, .w = 4}), "window_sum: w is 4; it must be odd, and at least 1");
  EXPECT_EQ(chosen({.rows = 1, .n = 8, .w = -1}), "window_sum: w is -1; it must be odd, and at least 1");
  EXPECT_EQ(chosen({.rows = 1, .n = 8, .w = 3, .dtype = f64}),
            "window_sum: dtype is f64; it must be one of f32 f16 bf16 i32");
  auto plan = plan_window_sum({.rows = 1, .n = 100, .w = 17}, *device_model("H200"), {.variant = "neighbours"});
  EXPECT_EQ(plan.error().message(),
            "window_sum: variant is neighbours; it must be another one here: the window reaches 8 elements to either "
            "side, and 7 are kept");
}

TEST(WindowSum, OneLineAndOverlap) {
  std::vector<float> x{1, 2, 3, 4, 5}, y(5);
  window_sum(view(x.data(), {5}), view(y.data(), {5}), 3);
  EXPECT_EQ(y, (std::vector<float>{3, 6, 9, 12, 9}));
  EXPECT_THROW(window_sum(view(x.data(), {5}), view(x.data(), {5}), 3), Error);
}

TEST(WindowSum, AGreatValueLeavesNoTraceInWindowsWithoutIt) {
  std::vector<float> x(3000, 1e-3f), y(3000);
  x[1000] = 1e30f;
  x[2000] = INFINITY;
  window_sum(view(x.data(), {3000}), view(y.data(), {3000}), 501);
  EXPECT_NEAR(y[1000 + 251], 0.501, 1e-6);
  EXPECT_NEAR(y[1000 - 251], 0.501, 1e-6);
  EXPECT_FLOAT_EQ(y[1000 + 250], 1e30f);
  EXPECT_NEAR(y[2000 + 251], 0.501, 1e-6);
  EXPECT_TRUE(std::isinf(y[2000 - 250]));
}

TEST(WindowSum, LeadingAxesThatDoNotMerge) {  // [2, 3, 40] seen through strides of [3, 2, 40]
  std::vector<float> x(240), y(240, -1.0f);
  for (int i = 0; i < 240; ++i) x[i] = static_cast<float>(i / 40);
  TensorView a = view(x.data(), {2, 3, 40});
  a.layout.stride = {40, 80, 1};
  window_sum(a, view(y.data(), {2, 3, 40}), 21);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) EXPECT_EQ(y[(i * 3 + j) * 40 + 20], 21 * (i + 2 * j));
}

}  // namespace
}  // namespace ridge
