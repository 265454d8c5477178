#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/elementwise/elementwise.hpp>
#include <ridge/elementwise/variants.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using elementwise_detail::variants;

const check::TestCasesOf cases{"add", "mul", "relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "exp", "copy"};

std::string chosen(const ElementwiseProblem& p, const char* device = "H200") {
  auto plan = plan_elementwise(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(ElementwisePlan, ChoosesTheWidestAccessThatTheTensorsAllow) {
  auto p = ElementwiseProblem::flat(Elementwise::relu, f32, 1 << 20);
  EXPECT_EQ(chosen(p), "vec4");
  p.alignment = 4;
  EXPECT_EQ(chosen(p), "scalar");
  p.y.stride[0] = 2;
  EXPECT_EQ(chosen(p), "strided");
}

TEST(ElementwisePlan, BiasAlongTheLastDimensionIsABroadcast) {
  ElementwiseProblem p{Elementwise::add, bf16, Layout::contiguous({64, 1024}), Layout::contiguous({64, 1024}),
                       Layout::contiguous({64, 1024})};
  p.b.stride[0] = 0;
  EXPECT_EQ(chosen(p), "broadcast");
  p.a.shape[1] = p.b.shape[1] = p.y.shape[1] = 1023;
  p.a.stride[0] = p.y.stride[0] = 1023;
  EXPECT_EQ(chosen(p), "strided");
}

TEST(ElementwisePlan, ARefusalSaysWhy) {
  auto p = ElementwiseProblem::flat(Elementwise::relu, f32, 100);
  p.alignment = 4;
  auto plan = plan_elementwise(p, *device_model("H200"), {.variant = "vec4"});
  EXPECT_EQ(plan.error().message(),
            "relu: variant is vec4; it must be another one here: a tensor does not start on 16 bytes");
  plan = plan_elementwise(p, *device_model("H200"), {.variant = "fastest"});
  EXPECT_EQ(plan.error().message(),
            "relu: variant is 'fastest'; it must be one of scalar vec4 vec4x2 broadcast strided");
  plan = plan_elementwise(ElementwiseProblem::flat(Elementwise::tanh, i32, 100), *device_model("H200"));
  EXPECT_EQ(plan.error().message(), "tanh: dtype is i32; it must be one of f64 f32 f16 bf16");
}

TEST(ElementwisePlan, HugeGridsAreRefusedBeforeLaunch) {
  auto p = ElementwiseProblem::flat(Elementwise::relu, f32, std::int64_t{1} << 41);
  p.alignment = 4;  // scalar: 2^41 / 256 blocks are too many
  auto plan = plan_elementwise(p, *device_model("H200"));
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().argument(), "y.shape");
}

TEST(ElementwisePlan, ExplainsItself) {
  auto plan = plan_elementwise(ElementwiseProblem::flat(Elementwise::add, f32, 1 << 28), *device_model("H200"));
  ASSERT_TRUE(plan.ok());
  const Explanation e = plan->explain();
  EXPECT_EQ(e.bound, "memory");
  EXPECT_EQ(e.cost.bytes(), 12.0 * (1 << 28));
  EXPECT_NEAR(e.least_us, (8 / 4.28e6 + 4 / 4.6e6) * (1 << 28), 1);  // a copy, plus the second input
  EXPECT_EQ(e.candidates.size(), std::size(variants));
}

TEST(Elementwise, OneLineOnTheCpu) {
  std::vector<float> a{-1, 0, 2, NAN}, y(4, 7.0f);
  relu(view(a.data(), {4}), view(y.data(), {4}));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[2], 2);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Elementwise, BroadcastsABias) {
  std::vector<float> a(6 * 8, 1.0f), bias(8), y(6 * 8);
  for (int i = 0; i < 8; ++i) bias[i] = static_cast<float>(i);
  TensorView b = view(bias.data(), {6, 8});
  b.layout.stride[0] = 0;
  add(view(a.data(), {6, 8}), b, view(y.data(), {6, 8}));
  for (int i = 0; i < 48; ++i) EXPECT_EQ(y[i], 1.0f + static_cast<float>(i % 8));
}

TEST(Elementwise, BroadcastsByNameAsNumPyDoes) {
  std::vector<float> a(2 * 3 * 4), row(4), y(2 * 3 * 4);
  const auto chosen_of = [&](TensorView b) -> std::string {
    const TensorView in[] = {view(a.data(), {2, 3, 4}), b}, out[] = {view(y.data(), {2, 3, 4})};
    auto plan = plan_op(**find_op("add"), in, out, {}, cpu());
    return plan ? (*plan)->explain().variant : std::string(plan.error().message());
  };
  EXPECT_EQ(chosen_of(view(row.data(), {4})), "broadcast");
  EXPECT_EQ(chosen_of(view(row.data(), {1, 1, 4})), "broadcast");
  EXPECT_EQ(chosen_of(view(row.data(), {3, 1})), "strided");
  EXPECT_EQ(chosen_of(view(row.data(), {3})), "add: b.shape is 3; it must be that of a, 2x3x4");
}

TEST(Elementwise, PartialOverlapIsRefused) {
  std::vector<float> a(10);
  try {
    relu(view(a.data(), {8}), view(a.data() + 1, {8}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "relu: y is overlapping a; it must be apart from it, or the same elements");
  }
}

TEST(Elementwise, AGpuThatIsNotThereIsNoDevice) {
  if (device_count() > 0) GTEST_SKIP() << "there is a GPU";
  std::vector<float> a(8);
  TensorView x = view(a.data(), {8}, {DeviceKind::cuda, 0});
  try {
    relu(x, x);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), Code::no_device);
  }
}

}  // namespace
}  // namespace ridge
