#include <ridge/check/gtest_cases.hpp>
#include <ridge/checklist/checklist.hpp>
#include <ridge/checklist/variants.hpp>
#include <ridge/core/op.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace ridge {
namespace {

const check::TestCasesOf cases{"checklist_copy",      "checklist_branch", "checklist_vecadd",
                               "checklist_histogram", "checklist_window", "checklist_banks"};

std::string chosen(Lesson lesson) {
  auto plan = plan_checklist({.lesson = lesson, .n = 1 << 20}, *device_model("H200"));
  return plan ? plan->explain().variant : std::string(plan.error().message());
}

TEST(ChecklistPlan, TakesTheGoodWay) {
  EXPECT_EQ(chosen(Lesson::copy), "contiguous");
  EXPECT_EQ(chosen(Lesson::branch), "uniform");
  EXPECT_EQ(chosen(Lesson::vecadd), "coarsened_4");
  EXPECT_EQ(chosen(Lesson::histogram), "coarsened");
  EXPECT_EQ(chosen(Lesson::window), "shared");
  EXPECT_EQ(chosen(Lesson::banks), "stride_1");
}

TEST(ChecklistPlan, ARefusalSaysWhy) {
  const DeviceInfo h200 = *device_model("H200");
  const auto sentence = [&](ChecklistProblem p, std::string variant = "") {
    return std::string(plan_checklist(p, h200, {.variant = std::move(variant)}).error().message());
  };
  EXPECT_EQ(sentence({.lesson = Lesson::window, .n = 10, .width = 4}),
            "checklist_window: w is 4; it must be odd, from 1 to 1023");
  EXPECT_EQ(sentence({.lesson = Lesson::histogram, .n = std::int64_t{1} << 31}),
            "checklist_histogram: n is 2147483648; it must be at most 2^31 - 1: its counts are i32");
  EXPECT_EQ(sentence({.lesson = Lesson::banks, .n = 10}, "stride_5"),
            "checklist_banks: variant is 'stride_5'; it must be one of stride_1 stride_2 stride_3 stride_4 stride_32 "
            "stride_33");
  EXPECT_NE(sentence({.lesson = Lesson::copy, .n = std::int64_t{1} << 50}, "contiguous"), "ok");
}

TEST(Checklist, StridedAndOverlappingViewsAreRefused) {
  std::vector<float> x(100), y(100);
  auto plan = plan_checklist({.lesson = Lesson::copy, .n = 50}, cpu());
  ASSERT_TRUE(plan.ok());
  TensorView strided = view(x.data(), {50});
  strided.layout.stride[0] = 2;
  EXPECT_EQ(plan->run(std::vector{strided}, view(y.data(), {50})).argument(), "x.strides");
  EXPECT_EQ(plan->run(std::vector{view(x.data(), {50})}, view(x.data(), {50})).argument(), "y");
  EXPECT_TRUE(plan->run(std::vector{view(x.data(), {50})}, view(y.data(), {50})).ok());
  // By name, views are known at planning time, and refused then.
  const std::vector in{strided}, out{view(y.data(), {50})};
  EXPECT_EQ(plan_op(**find_op("checklist_copy"), in, out, {}, cpu()).error().argument(), "x.strides");
}

}  // namespace
}  // namespace ridge
