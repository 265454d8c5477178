#include <ridge/check/gtest_cases.hpp>
#include <ridge/dwconv/dwconv.hpp>
#include <ridge/dwconv/variants.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace ridge {
namespace {

using dwconv_detail::variants;

const check::TestCasesOf cases{"dwconv"};

std::string chosen(const DwconvProblem& p, const char* device = "H200") {
  auto plan = plan_dwconv(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

TEST(DwconvPlan, TensorCoresWhereTheDeviceHasThem) {
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 768, 768)), "tensor_32");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 8, 2048, 4096, 4096)), "tensor_8");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 768, 768, true)), "tensor_32");
  EXPECT_EQ(chosen(DwconvProblem::contiguous(f32, 32, 768, 768, 768), "V100"), "balanced");
}

TEST(DwconvPlan, ARefusalSaysWhy) {
  auto plan =
      plan_dwconv(DwconvProblem::contiguous(f32, 32, 768, 768, 768), *device_model("V100"), {.variant = "tensor_32"});
  EXPECT_EQ(plan.error().message(),
            "dwconv: variant is tensor_32; it must be another one here: the device has no tensor cores of compute "
            "capability 8.0");
  std::vector<float> k(24), w(12), out(24);
  const auto refusal = [&](const TensorView& filter, const TensorView& to) {
    return std::string(DwconvProblem::of(view(k.data(), {2, 3, 4}), filter, to).error().message());
  };
  EXPECT_EQ(refusal(view(w.data(), {2, 6}), view(out.data(), {2, 3, 4})),
            "dwconv: w.shape is 2x6; it must be of 2 axes: k's 3 channels, and the filter's length");
  EXPECT_EQ(refusal(view(w.data(), {3, 4}), view(out.data(), {2, 3, 3})),
            "dwconv: y.shape is 2x3x3; it must be that of k, 2x3x4");
  EXPECT_EQ(refusal(view(w.data(), {3, 4}), view(k.data(), {2, 3, 4})),
            "dwconv: y is overlapping k; it must be apart from it");
}

TEST(Dwconv, TheLastTapIsThePresent) {
  std::vector<float> k{1, 2, 3, 4}, w{100, 10, 1}, out(4);
  dwconv(view(k.data(), {1, 1, 4}), view(w.data(), {1, 3}), view(out.data(), {1, 1, 4}), 0.5f);
  EXPECT_EQ(out, (std::vector<float>{1.5f, 12.5f, 123.5f, 234.5f}));
}

TEST(Dwconv, GradientsGoBackInTimeAndAddUpTheBatch) {
  std::vector<float> dy{1, 0, 2, 0, 0, 1}, k{1, 2, 3, 4, 5, 6}, w{10, 1}, dk(6), dw(2);
  dwconv_gradient(view(dy.data(), {2, 1, 3}), view(k.data(), {2, 1, 3}), view(w.data(), {1, 2}),
                  view(dk.data(), {2, 1, 3}), view(dw.data(), {1, 2}));
  EXPECT_EQ(dk, (std::vector<float>{1, 20, 2, 0, 10, 1}));
  EXPECT_EQ(dw, (std::vector<float>{2 * 2 + 1 * 5, 1 * 1 + 2 * 3 + 1 * 6}));
}

}  // namespace
}  // namespace ridge
