#include <ridge/check/gtest_cases.hpp>
#include <ridge/nms/nms.hpp>
#include <ridge/nms/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using nms_detail::variants;

const check::TestCasesOf cases{"nms"};

std::string chosen(const NmsProblem& p) {
  auto plan = plan_nms(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(NmsPlan, TheMaskAsLongAsItFits) {
  EXPECT_EQ(chosen({.n = 1000}), "mask_ahead");
  EXPECT_EQ(chosen({.n = 50000, .dtype = f16}), "mask_ahead");
  EXPECT_EQ(chosen({.n = 2000000}), "walk");
  EXPECT_EQ(chosen({.n = 0}), "walk");
}

TEST(NmsPlan, ARefusalSaysWhy) {
  EXPECT_EQ(chosen({.n = 10, .iou = 1.5f}), "nms: iou is 1.5; it must be from 0 to 1");
  EXPECT_EQ(chosen({.n = 10, .iou = NAN}), "nms: iou is nan; it must be from 0 to 1");
  EXPECT_EQ(chosen({.n = 10, .dtype = f64}), "nms: boxes.dtype is f64; it must be f32 or f16");
  std::vector<float> boxes(40), scores(10);
  std::vector<std::int64_t> indices(11);
  NmsTensors t{view(boxes.data(), {10, 4}), view(scores.data(), {9}), view(indices.data(), {10}),
               view(indices.data() + 10, {1})};
  EXPECT_EQ(nms_problem(t).error().message(), "nms: scores.shape is 9; it must be 10");
  t.scores = view(scores.data(), {10});
  t.count = view(indices.data() + 9, {1});
  EXPECT_EQ(nms_problem(t).error().message(), "nms: count is overlapping indices; it must be apart from it");
  t.boxes = view(boxes.data(), {8, 5});
  EXPECT_EQ(nms_problem(t).error().message(),
            "nms: boxes.shape is 8x5; it must be of 2 axes, the last of 4 coordinates");
}

struct Answer {
  std::vector<std::int64_t> indices;
  std::int64_t count = -7;
};
Answer answer(std::vector<float> boxes, std::vector<float> scores, NmsOptions options = {},
              std::vector<std::int32_t> classes = {}) {
  const std::int64_t n = static_cast<std::int64_t>(scores.size());
  Answer a{std::vector<std::int64_t>(scores.size())};
  NmsTensors t{view(boxes.data(), {n, 4}), view(scores.data(), {n}), view(a.indices.data(), {n}), view(&a.count, {1})};
  if (!classes.empty()) t.classes = view(classes.data(), {n});
  nms(t, options);
  return a;
}

TEST(Nms, ExactlyTheThresholdIsKept) {  // intersection 50, union 100
  const std::vector<float> boxes{0, 0, 10, 10, 0, 0, 10, 5};
  EXPECT_EQ(answer(boxes, {1, 2}).indices, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(answer(boxes, {1, 2}, {.iou = 0.49f}).indices, (std::vector<std::int64_t>{1, -1}));
  EXPECT_EQ(answer(boxes, {1, 2}, {.iou = 0.49f}).count, 1);
}

TEST(Nms, LegacyCornersArePixels) {  // 1x1 pixel each, identical
  const std::vector<float> boxes{3, 3, 3, 3, 3, 3, 3, 3};
  EXPECT_EQ(answer(boxes, {1, 2}).count, 2);
  EXPECT_EQ(answer(boxes, {1, 2}, {.legacy = true}).count, 1);
}

TEST(Nms, ASuppressedBoxSuppressesNone) {  // a chain: each overlaps the next
  const std::vector<float> boxes{0, 0, 10, 1, 3, 0, 13, 1, 6, 0, 16, 1};
  EXPECT_EQ(answer(boxes, {3, 2, 1}).indices, (std::vector<std::int64_t>{0, 2, -1}));
}

TEST(Nms, ClassesAndTies) {
  const std::vector<float> boxes{0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4};
  EXPECT_EQ(answer(boxes, {1, 1, 1}, {}, {5, 6, 5}).indices, (std::vector<std::int64_t>{0, 1, -1}));
}

TEST(Nms, AreasBeyondFloat32) {
  for (float scale : {1e25f, 1e-25f}) {
    const std::vector<float> boxes{0, 0, 10 * scale, 10 * scale, 0, 0, 10 * scale, 9 * scale};
    EXPECT_EQ(answer(boxes, {1, 2}).count, 1) << scale;
  }
}

}  // namespace
}  // namespace ridge
