#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>
#include <ridge/group_norm/families.hpp>
#include <ridge/group_norm/group_norm.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace ridge {
namespace {

using namespace group_norm_detail;

const check::TestCasesOf cases{"group_norm"};

constexpr auto nchw = GroupNormLayout::nchw, nhwc = GroupNormLayout::nhwc;

const Variant& row_of(std::string_view name) {
  for (const Variant& row : variants)
    if (row.name == name) return row;
  ADD_FAILURE() << "no row " << name;
  return variants[0];
}

std::string chosen(const GroupNormProblem& p, const char* device = "H100") {
  auto plan = plan_group_norm(p, *device_model(device));
  return plan ? std::string(variants[plan->variant].name) : std::string(plan.error().message());
}

// The gradient of contiguous tensors, with dgamma and dbeta.
GroupNormProblem gradient_of(GroupNormProblem p) {
  p.backward = p.dgamma = p.dbeta = true;
  return p;
}

TEST(GroupNormPlan, SpansAndPixelsHaveRowsOfTheirOwn) {
  const auto problem = [](GroupNormLayout layout, std::int64_t n, std::int64_t c, std::int64_t pixels) {
    return GroupNormProblem::contiguous(bf16, n, c, pixels, {.groups = 32, .layout = layout});
  };
  EXPECT_EQ(chosen(problem(nchw, 32, 512, 64 * 64)).substr(0, 5), "span_");
  EXPECT_EQ(chosen(problem(nhwc, 32, 512, 64 * 64)).substr(0, 7), "pixels_");
  EXPECT_EQ(chosen(problem(nchw, 2, 1280, 8 * 8)).substr(0, 5), "span_");
  EXPECT_EQ(chosen(problem(nhwc, 2, 1280, 8 * 8)).substr(0, 7), "pixels_");
  // Groups that no multiprocessor holds: ten channels are whole vectors only as forty, of 4,096 pixels 320 KB.
  EXPECT_EQ(chosen(problem(nhwc, 2, 320, 64 * 64)), "split_pixels");
  EXPECT_EQ(chosen(problem(nchw, 2, 320, 512 * 512)), "split_span");
}

TEST(GroupNormPlan, GradientsAreOfSplitGroups) {
  for (const GroupNormLayout layout : {nchw, nhwc}) {
    const auto p = GroupNormProblem::contiguous(bf16, 2, 320, 64 * 64, {.groups = 32, .layout = layout});
    EXPECT_EQ(chosen(gradient_of(p)), layout == nchw ? "split_span" : "split_pixels");
  }
}

TEST(GroupNormPlan, ChannelsLastInMemoryArePixelsWhateverTheLayoutIsCalled) {
  GroupNormProblem p = GroupNormProblem::contiguous(bf16, 32, 512, 64 * 64, {.groups = 32, .layout = nhwc});
  p.options.layout = nchw;
  EXPECT_EQ(chosen(p).substr(0, 7), "pixels_");
}

TEST(GroupNormPlan, TensorsOffSixteenBytesAreTakenByElement) {
  GroupNormProblem p = GroupNormProblem::contiguous(f32, 2, 64, 256, {.groups = 4});
  p.align_y = 4;
  const std::string row = chosen(p);
  EXPECT_TRUE(row == "naive" || row == "split_scalar") << row;
}

TEST(GroupNormPlan, PlansAreMadeForEveryModel) {
  for (const DeviceInfo& device : device_models())
    for (const GroupNormLayout layout : {nchw, nhwc})
      for (const bool backward : {false, true}) {
        GroupNormProblem p = GroupNormProblem::contiguous(f16, 2, 320, 32 * 32, {.groups = 32, .layout = layout});
        if (backward) p = gradient_of(p);
        const auto plan = plan_group_norm(p, device);
        ASSERT_TRUE(plan) << device.name << ": " << plan.error().message();
        EXPECT_FALSE(plan->explain().text().empty());
      }
}

// ---- how work is divided

TEST(GroupNormDivision, VectorsOfSeveralGroupsMakeAPart) {
  const DeviceInfo h100 = *device_model("H100");
  const Config& split = row_of("split_pixels").config;
  const auto of = [&](std::int64_t c, std::int64_t groups, DType dtype) {
    const auto p = GroupNormProblem::contiguous(dtype, 2, c, 64 * 64, {.groups = groups, .layout = nhwc});
    EXPECT_EQ(refuse_access(split, p), "");
    return division_of(split, p, h100);
  };
  // Ten channels of two bytes: vectors of four groups and more. Of eight groups they are whole sectors, and a line.
  const Division ten = of(320, 32, bf16);
  EXPECT_EQ(ten.groups, 8);
  EXPECT_EQ(ten.columns, 10);
  EXPECT_EQ(ten.slots, 8);
  EXPECT_EQ(ten.lanes, 16);
  EXPECT_EQ(ten.threads, 160);
  EXPECT_EQ(ten.parts, 2 * 4);
  // Sixteen: a group is two vectors, and four are a line.
  const Division sixteen = of(512, 32, bf16);
  EXPECT_EQ(sixteen.groups, 4);
  EXPECT_EQ(sixteen.slots, 1);
  // One channel each.
  EXPECT_EQ(of(64, 64, f32).groups, 32);
}

TEST(GroupNormDivision, SlicesCoverThePartAndNoneIsEmpty) {
  const DeviceInfo h100 = *device_model("H100");
  for (const char* name : {"split_scalar", "split_span", "split_pixels"})
    for (const std::int64_t pixels : {1, 7, 64, 1000, 4096, 100000}) {
      const Config& c = row_of(name).config;
      const auto p = GroupNormProblem::contiguous(f32, 2, 64, pixels,
                                                  {.groups = 8, .layout = c.access == Access::pixels ? nhwc : nchw});
      ASSERT_EQ(refuse_access(c, p), "") << name;
      const Division d = division_of(c, p, h100);
      EXPECT_GE(d.slices * d.slice_items, d.part_items) << name << ", " << pixels;
      EXPECT_LT((d.slices - 1) * d.slice_items, d.part_items) << name << ", " << pixels;
      EXPECT_EQ(d.slice_items % d.lanes, 0) << name << ", " << pixels;
    }
}

TEST(GroupNormDivision, AResidentBlockHoldsItsPart) {
  for (const DeviceInfo& device : device_models())
    for (const Variant& row : variants) {
      if (row.config.algorithm != Algorithm::resident) continue;
      const GroupNormLayout layout = row.config.access == Access::pixels ? nhwc : nchw;
      for (const std::int64_t pixels : {1, 64, 4096}) {
        const auto p = GroupNormProblem::contiguous(bf16, 4, 640, pixels, {.groups = 32, .layout = layout});
        if (!family_of(row).fits(row, p, device).empty()) continue;
        const Division d = division_of(row.config, p, device);
        EXPECT_GE((row.config.in_registers + d.in_shared) * d.lanes, d.part_items) << row.name << ", " << pixels;
        EXPECT_LE(smem_of_resident(row.config, d), device.smem_optin) << row.name << ", " << pixels;
        EXPECT_LE(d.threads, row.config.threads) << row.name << ", " << pixels;
        EXPECT_EQ(d.threads % device.warp, 0) << row.name << ", " << pixels;
      }
    }
}

// ---- refusals

TEST(GroupNormPlan, GroupsDivideTheChannels) {
  std::vector<float> x(2 * 12 * 4), y(x.size());
  const GroupNormTensors t{.x = view(x.data(), {2, 12, 4}), .y = view(y.data(), {2, 12, 4})};
  EXPECT_EQ(GroupNormProblem::of(t, {.groups = 5}).error().message(),
            "group_norm: groups is 5; it must be a divisor of x's channels, 12");
  EXPECT_EQ(GroupNormProblem::of(t, {.groups = 0}).error().message(), "group_norm: groups is 0; it must be 1 or more");
  EXPECT_EQ(GroupNormProblem::of(t, {.groups = 3, .layout = nhwc}).error().message(),
            "group_norm: groups is 3; it must be a divisor of x's channels, 4");
  GroupNormProblem p = *GroupNormProblem::of(t, {.groups = 4});
  p.options.groups = 7;
  EXPECT_EQ(chosen(p), "group_norm: groups is 7; it must be a divisor of x's channels, 12");
}

TEST(GroupNormPlan, ARefusalSaysWhy) {
  std::vector<float> x(2 * 4 * 6), y(x.size()), c(4), d(3);
  GroupNormTensors t{.x = view(x.data(), {2, 4, 6}), .y = view(y.data(), {2, 4, 6}), .gamma = view(d.data(), {3})};
  const auto why = [&] { return std::string(GroupNormProblem::of(t, {.groups = 2}).error().message()); };
  EXPECT_EQ(why(), "group_norm: gamma.shape is 3; it must be 4");
  t.gamma = view(c.data(), {4});
  t.y = view(x.data() + 1, {2, 4, 6});
  EXPECT_EQ(why(), "group_norm: y is overlapping x; it must be apart from it, or the same elements");
  t.y = t.x;
  EXPECT_TRUE(GroupNormProblem::of(t, {.groups = 2}));
  t.beta = view(x.data(), {4});
  EXPECT_EQ(why(), "group_norm: y is overlapping beta; it must be apart from it");
  const GroupNormGradientTensors g{.dy = view(y.data(), {2, 4, 6}), .x = t.x, .dx = t.x};
  EXPECT_EQ(GroupNormProblem::of(g, {.groups = 2}).error().message(),
            "group_norm: dx is overlapping x; it must be apart from it");
  EXPECT_EQ(chosen(GroupNormProblem::contiguous(f32, 1, 2, std::int64_t{1} << 30, {.groups = 1})),
            "group_norm: x.shape is 1x2x1x1073741824; it must be of fewer than 2^31 elements per group");
}

TEST(GroupNormPlan, EpsIsFiniteAndNotNegative) {
  for (const float eps : {NAN, INFINITY, -1e-5f}) {
    const std::string why = chosen(GroupNormProblem::contiguous(f32, 2, 8, 16, {.groups = 2, .eps = eps}));
    EXPECT_NE(why.find("eps is "), std::string::npos) << why;
  }
}

// ---- results

TEST(GroupNorm, OneLine) {
  std::vector<float> x{1, 3, 5, 5}, y(4), gamma{1, 2, 1, 1}, beta{0, 0, 7, -7};
  group_norm({.x = view(x.data(), {1, 4, 1}),
              .y = view(y.data(), {1, 4, 1}),
              .gamma = view(gamma.data(), {4}),
              .beta = view(beta.data(), {4})},
             {.groups = 2, .eps = 0.0625f, .activation = Activation::relu});
  EXPECT_EQ(y[0], 0);  // -1 / sqrt(1.0625), and relu
  EXPECT_NEAR(y[1], 2 / std::sqrt(1.0625), 1e-6);
  EXPECT_EQ(y[2], 7);
  EXPECT_EQ(y[3], 0);
}

// The gradient of the sum of y times dy, beside differences of that sum.
TEST(GroupNorm, GradientsAreSlopes) {
  constexpr int count = 2 * 4 * 6;
  std::vector<float> x(count), dy(count), y(count), dx(count), gamma{1, -0.5f, 2, 1.5f}, beta{0, 0.25f, -1, 0.5f},
      dgamma(4), dbeta(4);
  for (int i = 0; i < count; ++i) {
    x[i] = static_cast<float>(std::sin(1.3 * i));
    dy[i] = static_cast<float>(std::cos(0.7 * i));
  }
  const auto image = [](std::vector<float>& of) { return view(of.data(), {2, 4, 6}); };
  const auto vector = [](std::vector<float>& of) { return view(of.data(), {4}); };
  for (const Activation activation :
       {Activation::none, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::sigmoid}) {
    const GroupNormOptions options{.groups = 2, .activation = activation};
    const auto sum = [&] {
      group_norm({.x = image(x), .y = image(y), .gamma = vector(gamma), .beta = vector(beta)}, options);
      double total = 0;
      for (int i = 0; i < count; ++i) total += static_cast<double>(y[i]) * dy[i];
      return total;
    };
    const auto slope = [&](float& at) {
      const float kept = at, step = 0x1p-7f;
      at = kept + step;
      const double above = sum();
      at = kept - step;
      const double below = sum();
      at = kept;
      return (above - below) / (2 * step);
    };
    group_norm_gradients({.dy = image(dy),
                          .x = image(x),
                          .gamma = vector(gamma),
                          .beta = vector(beta),
                          .dx = image(dx),
                          .dgamma = vector(dgamma),
                          .dbeta = vector(dbeta)},
                         options);
    for (int i = 0; i < count; i += 5) EXPECT_NEAR(dx[i], slope(x[i]), 2e-3) << name(activation) << ", dx " << i;
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(dgamma[c], slope(gamma[c]), 2e-3) << name(activation) << ", dgamma " << c;
      EXPECT_NEAR(dbeta[c], slope(beta[c]), 2e-3) << name(activation) << ", dbeta " << c;
    }
  }
}

TEST(GroupNorm, ByNameGammaOrBetaComesAlone) {
  const OpInfo& op = **find_op("group_norm");
  std::vector<float> x{1, 3, 2, 6}, y(4), of_channel{10, 20};
  const TensorView in[] = {view(x.data(), {1, 2, 2}), view(of_channel.data(), {2})};
  const TensorView out = view(y.data(), {1, 2, 2});
  const auto run = [&](const Options& options) {
    auto plan = plan_op(op, in, std::span(&out, 1), options, cpu());
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_TRUE((*plan)->run(in, std::span(&out, 1), {}, {}).ok());
  };
  run({{"groups", "2"}, {"eps", "0"}, {"variant", "naive"}});
  EXPECT_EQ(y, (std::vector<float>{-10, 10, -20, 20}));
  run({{"groups", "2"}, {"eps", "0"}, {"variant", "naive"}, {"inputs", "x,beta"}});
  EXPECT_EQ(y, (std::vector<float>{9, 11, 19, 21}));
  const auto without = plan_op(op, in, std::span(&out, 1), {}, cpu());
  EXPECT_EQ(without.error().message(),
            "group_norm: groups is missing; it must be given: the number of groups of x's channels");
}

TEST(GroupNorm, GradientsHaveTheTypesOfTheirParameters) {
  const OpInfo& op = **find_op("group_norm");
  const auto typed = [](DType dtype, std::initializer_list<std::int64_t> shape) {
    return TensorView{nullptr, dtype, Layout::contiguous(shape), {}};
  };
  const TensorView image = typed(bf16, {2, 4, 3});
  const auto types = [&](std::vector<TensorView> in, const std::string& inputs) {
    std::string text;
    const auto found = infer_op(op, in, {{"groups", "2"}, {"backward", "1"}, {"inputs", inputs}});
    EXPECT_TRUE(found) << found.error().message();
    if (found)
      for (const TensorType& type : *found) text += (text.empty() ? "" : " ") + std::string(name(type.dtype));
    return text;
  };
  EXPECT_EQ(types({image, image}, "dy,x"), "bf16 f32 f32");
  EXPECT_EQ(types({image, image, typed(bf16, {4})}, "dy,x,gamma"), "bf16 bf16 bf16");
  EXPECT_EQ(types({image, image, typed(bf16, {4}), typed(f32, {4})}, "dy,x,gamma,beta"), "bf16 bf16 f32");
}

TEST(GroupNorm, FiveAxesAndSpaceInTwoParts) {  // [n, c, d, h, w] with a gap between depths
  std::vector<float> x(2 * 4 * 2 * 5), y(2 * 4 * 2 * 2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 10);
  GroupNormTensors t{.x = view(x.data(), {2, 4, 2, 1, 2}), .y = view(y.data(), {2, 4, 2, 1, 2})};
  t.x.layout.stride = {40, 10, 5, 5, 1};  // of each channel's 10 values: 0 1 5 6
  group_norm(t, {.groups = 2, .eps = 0});
  for (std::size_t i = 0; i < y.size(); ++i) {
    constexpr double values[] = {0, 1, 5, 6};
    EXPECT_NEAR(y[i], (values[i % 4] - 3) / std::sqrt(6.5), 1e-6) << i;
  }
}

TEST(GroupNorm, NoSamplesGiveGradientsOfZero) {
  std::vector<float> none(1), dgamma{1, 2, 3, 4}, dbeta{5, 6, 7, 8};
  const TensorView empty = view(none.data(), {0, 4, 6});
  group_norm_gradients(
      {.dy = empty, .x = empty, .dx = empty, .dgamma = view(dgamma.data(), {4}), .dbeta = view(dbeta.data(), {4})},
      {.groups = 2});
  EXPECT_EQ(dgamma, std::vector<float>(4));
  EXPECT_EQ(dbeta, std::vector<float>(4));
}

}  // namespace
}  // namespace ridge
