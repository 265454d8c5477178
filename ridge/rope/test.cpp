#include <ridge/check/gtest_cases.hpp>
#include <ridge/rope/rope.hpp>
#include <ridge/rope/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using rope_detail::variants;

const check::TestCasesOf cases{"rope", "rope_cache"};

std::string chosen(const RopeProblem& p) {
  auto plan = plan_rope(p, *device_model("H200"));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(RopePlan, HeadsShareTheirAngles) {
  EXPECT_EQ(chosen(RopeProblem::contiguous(bf16, 8, 4096, 32, 128)), "heads");
  EXPECT_EQ(chosen(RopeProblem::contiguous(f32, 8, 4096, 32, 64, {.style = RopeStyle::gptj})), "heads");
  EXPECT_EQ(chosen(RopeProblem::contiguous(bf16, 8, 4096, 32, 72)), "heads_8");  // a half is 36 elements, 72 bytes
  EXPECT_EQ(chosen(RopeProblem::contiguous(bf16, 8, 4096, 32, 70)), "naive");    // 35 elements
}

TEST(RopePlan, ARefusalSaysWhy) {
  EXPECT_EQ(chosen(RopeProblem::contiguous(f32, 1, 2, 3, 7)),
            "rope: rotary_dim is 7; it must be even, at most d, 7, and at most 512");
  EXPECT_EQ(chosen(RopeProblem::contiguous(f32, 1, 2, 3, 8, {.base = 0})),
            "rope: base is 0; it must be finite, and 1 or more");
  EXPECT_EQ(chosen(RopeProblem::contiguous(f32, 1, 2, 3, 8, {.base = 1e-320})),
            "rope: base is 1e-320; it must be finite, and 1 or more");
  EXPECT_EQ(chosen(RopeProblem::contiguous(f32, 1, 2, 3, 8, {.rotary_dim = -2})),
            "rope: rotary_dim is -2; it must be even, at most d, 8, and at most 512");
  std::vector<float> x(24), y(24);
  std::vector<std::int32_t> positions(3);
  auto p = RopeProblem::of(
      {.x = view(x.data(), {2, 3, 4}), .y = view(y.data(), {2, 3, 4}), .positions = view(positions.data(), {3})}, {});
  EXPECT_EQ(p.error().message(), "rope: positions.shape is 3; it must be 2 or 1x2");
  p = RopeProblem::of({.x = view(x.data(), {2, 3, 4}), .y = view(x.data() + 4, {2, 3, 4})}, {});
  EXPECT_EQ(p.error().message(), "rope: y is overlapping x; it must be apart from it, or the same elements");
}

TEST(Rope, AQuarterTurn) {  // tables override the angle of 1 radian per position
  std::vector<float> x{1, 2, 3, 4}, y(4), cos{0, 1}, sin{1, 0};
  rope({.x = view(x.data(), {1, 1, 4}),
        .y = view(y.data(), {1, 1, 4}),
        .cos = view(cos.data(), {1, 2}),
        .sin = view(sin.data(), {1, 2})});
  EXPECT_EQ(y, (std::vector<float>{-3, 2, 1, 4}));
}

TEST(Rope, PositionsFarOutAreAsGoodAsNearOnes) {
  const std::int64_t far = (std::int64_t{1} << 36) + 12345;
  std::vector<float> x{1, 0}, y(2);
  rope({.x = view(x.data(), {1, 1, 2}), .y = view(y.data(), {1, 1, 2}), .positions = view(&far, {1})});
  const long double angle = static_cast<long double>(far);
  EXPECT_NEAR(y[0], std::cos(angle), 2e-7);
  EXPECT_NEAR(y[1], std::sin(angle), 2e-7);
}

}  // namespace
}  // namespace ridge
