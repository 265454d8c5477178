#include <ridge/batch_norm/batch_norm.hpp>
#include <ridge/batch_norm/families.hpp>
#include <ridge/check/gtest_cases.hpp>
#include <ridge/core/op.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ridge {
namespace {

using namespace batch_norm_detail;

const check::TestCasesOf cases{"batch_norm", "batch_norm_stats", "batch_norm_train"};

constexpr auto nchw = BatchNormLayout::nchw, nhwc = BatchNormLayout::nhwc;

// The variants chosen for the statistics and for applying them, if the function has that part.
std::string chosen(const BatchNormProblem& p) {
  auto plan = plan_batch_norm(p, *device_model("H200"));
  if (!plan) return std::string(plan.error().message());
  std::string names;
  if (p.function != BatchNorm::inference) names += stats_variants[plan->stats_variant].name;
  if (p.function == BatchNorm::train) names += ", ";
  if (p.function != BatchNorm::stats) names += apply_variants[plan->apply_variant].name;
  return names;
}

BatchNormProblem gradient(BatchNorm function, DType dtype, BatchNormLayout layout, std::int64_t n, std::int64_t c,
                          std::int64_t space) {
  BatchNormProblem p = BatchNormProblem::contiguous(function, dtype, layout, n, c, space);
  p.backward = p.dgamma = p.dbeta = true;
  p.beta = false;
  p.dy = p.x;
  return p;
}

// A plan with NaN would equal no problem of a run, not even its own.
TEST(BatchNormPlan, EpsIsFinite) {
  for (const BatchNorm function : {BatchNorm::inference, BatchNorm::stats, BatchNorm::train})
    for (const float eps : {NAN, INFINITY, -INFINITY}) {
      auto p = BatchNormProblem::contiguous(function, f32, nchw, 2, 8, 16);
      p.options.eps = eps;
      EXPECT_NE(chosen(p).find("eps is "), std::string::npos) << chosen(p);
    }
}

TEST(BatchNormPlan, StatisticsOfSizesAreOfContiguousTensors) {
  std::vector<float> x(2 * 8 * 16), mean(8), var(8);
  const TensorView of_x = view(x.data(), {2, 8, 16}), of_mean = view(mean.data(), {8}), of_var = view(var.data(), {8});
  const auto given =
      BatchNormProblem::of(BatchNorm::stats, BatchNormTensors{.x = of_x, .mean = of_mean, .var = of_var}, {});
  ASSERT_TRUE(given.ok()) << given.error().message();
  const auto p = BatchNormProblem::contiguous(BatchNorm::stats, f32, nchw, 2, 8, 16);
  EXPECT_EQ(p, *given);
  EXPECT_EQ(p.gamma, false);
  EXPECT_EQ(p.options.eps, 0);
}

TEST(BatchNormPlan, PlanesAndChannelsHaveRowsOfTheirOwn) {
  EXPECT_EQ(chosen(BatchNormProblem::contiguous(BatchNorm::train, f32, nchw, 32, 64, 112 * 112)), "planes, planes");
  EXPECT_EQ(chosen(BatchNormProblem::contiguous(BatchNorm::train, bf16, nhwc, 32, 64, 112 * 112)),
            "channels, channels");
  EXPECT_EQ(chosen(BatchNormProblem::contiguous(BatchNorm::train, bf16, nchw, 32, 2048, 49)), "images, planes");
  EXPECT_EQ(chosen(BatchNormProblem::contiguous(BatchNorm::train, f32, nhwc, 32, 3, 112 * 112)),
            "channels_scalar, naive");
}

TEST(BatchNormPlan, GradientsGoThroughMemoryAsTheForwardPassDoes) {
  EXPECT_EQ(chosen(gradient(BatchNorm::train, f32, nchw, 32, 64, 112 * 112)), "planes, planes");
  EXPECT_EQ(chosen(gradient(BatchNorm::train, bf16, nhwc, 32, 64, 112 * 112)), "channels, channels");
  EXPECT_EQ(chosen(gradient(BatchNorm::train, bf16, nchw, 32, 2048, 49)), "images, planes");
  EXPECT_EQ(chosen(gradient(BatchNorm::train, f32, nhwc, 32, 3, 112 * 112)), "channels_scalar, naive");
  EXPECT_EQ(chosen(gradient(BatchNorm::inference, f32, nchw, 32, 64, 112 * 112)), "planes");
  auto p = gradient(BatchNorm::inference, f32, nchw, 32, 64, 112 * 112);
  EXPECT_GE(plan_batch_norm(p, *device_model("H200"))->workspace_bytes(), 64u * 8);
  p.dgamma = p.dbeta = false;  // dx = dy gamma / sqrt(var + eps): there is nothing to sum
  EXPECT_EQ(plan_batch_norm(p, *device_model("H200"))->workspace_bytes(), 0u);
}

TEST(BatchNormPlan, AMatrixHasItsChannelsInnermost) {
  EXPECT_EQ(chosen(BatchNormProblem::contiguous(BatchNorm::inference, f32, nchw, 512, 256, 1)), "channels");
}

TEST(BatchNormPlan, TensorsOffSixteenBytesAreTakenByElement) {
  auto p = BatchNormProblem::contiguous(BatchNorm::inference, f32, nchw, 2, 4, 64);
  p.align_x = 4;
  EXPECT_EQ(chosen(p), "naive");
}

TEST(BatchNormPlan, FewChannelsAreCutIntoSlicesThatFillTheDevice) {
  const DeviceInfo h200 = *device_model("H200");
  const auto p = BatchNormProblem::contiguous(BatchNorm::stats, f32, nchw, 32, 64, 112 * 112);
  const StatsGrid g = stats_grid(stats_variants[2].config, p, h200);
  EXPECT_EQ(g.items, 32 * 112 * 112 / 4);
  const std::int64_t places = stats_variants[2].config.blocks_per_sm * h200.sms;
  EXPECT_LE(g.blocks(), places);
  EXPECT_GE(g.blocks(), places * 9 / 10);
  EXPECT_LT(g.step * (g.slices - 1), g.items);  // the last block has work
}

TEST(BatchNormPlan, ARefusalSaysWhy) {
  std::vector<float> x(2 * 3 * 4), c(3), y(2 * 3 * 4);
  BatchNormTensors t{.x = view(x.data(), {2, 3, 4}),
                     .y = view(y.data(), {2, 3, 4}),
                     .mean = view(c.data(), {3}),
                     .var = view(c.data(), {2}),
                     .gamma = {},
                     .beta = {},
                     .residual = {}};
  auto p = BatchNormProblem::of(BatchNorm::inference, t, {});
  EXPECT_EQ(p.error().message(), "batch_norm: var.shape is 2; it must be 3");
  t.var = view(c.data(), {3});
  p = BatchNormProblem::of(BatchNorm::stats, t, {});
  EXPECT_EQ(p.error().message(), "batch_norm_stats: mean is overlapping var; it must be apart from it");
  t.y = view(x.data() + 1, {2, 3, 4});
  p = BatchNormProblem::of(BatchNorm::inference, t, {});
  EXPECT_EQ(p.error().message(), "batch_norm: y is overlapping x; it must be apart from it, or the same elements");
  auto huge = BatchNormProblem::contiguous(BatchNorm::stats, f32, nchw, 1, 2, std::int64_t{1} << 31);
  EXPECT_EQ(chosen(huge),
            "batch_norm_stats: x.shape is 1x2x1x2147483648; it must be of fewer than 2^31 elements per channel");
}

TEST(BatchNorm, AGradientOfEachKind) {
  // Of x = 1 3 the mean is 2, the variance 1; with eps 3 the scale is a half.
  std::vector<float> x{1, 3}, dy{4, 10}, mean{2}, var{1}, gamma{2}, dx(2), dgamma(1), dbeta(1);
  BatchNormGradientTensors t{.dy = view(dy.data(), {1, 1, 2}),
                             .x = view(x.data(), {1, 1, 2}),
                             .mean = view(mean.data(), {1}),
                             .var = view(var.data(), {1}),
                             .gamma = view(gamma.data(), {1}),
                             .beta = {},
                             .residual = {},
                             .dx = view(dx.data(), {1, 1, 2}),
                             .dgamma = view(dgamma.data(), {1}),
                             .dbeta = view(dbeta.data(), {1}),
                             .dresidual = {}};
  batch_norm_gradient(t, {.eps = 3});
  EXPECT_EQ(dbeta[0], 14);
  EXPECT_NEAR(dgamma[0], (4 * -1 + 10 * 1) * 0.5, 1e-5);
  EXPECT_NEAR(dx[0], 4, 1e-5);
  EXPECT_NEAR(dx[1], 10, 1e-5);
  batch_norm_train_gradient(t, {.eps = 3});  // dy - 7 - (x - 2) 3 / 4
  EXPECT_EQ(dbeta[0], 14);
  EXPECT_NEAR(dx[0], 4 - 7 + 0.75, 1e-5);
  EXPECT_NEAR(dx[1], 10 - 7 - 0.75, 1e-5);
  t.dx = t.dy;
  EXPECT_THROW(batch_norm_train_gradient(t, {.eps = 3}), Error);
  t.dx = view(dx.data(), {1, 1, 2});
  t.dgamma = t.dbeta = {};
  EXPECT_NO_THROW(batch_norm_train_gradient(t, {.eps = 3}));
  EXPECT_FALSE(BatchNormProblem::of_gradient(BatchNorm::stats, t, {}).ok());
}

TEST(BatchNorm, AnActivationAndAResidualFollowTheNorm) {
  // Of x = 1 3 the mean is 2, the variance 1; with eps 0 and gamma 2 the norm is -2 2, and z is -2 1.
  std::vector<float> x{1, 3}, added{0, -1}, y(2), mean(1), var(1), gamma{2};
  const TensorView of_added = view(added.data(), {1, 1, 2});
  const BatchNormOptions relu{.eps = 0, .activation = Activation::relu};
  batch_norm_train({.x = view(x.data(), {1, 1, 2}),
                    .y = view(y.data(), {1, 1, 2}),
                    .mean = view(mean.data(), {1}),
                    .var = view(var.data(), {1}),
                    .gamma = view(gamma.data(), {1}),
                    .beta = {},
                    .residual = of_added},
                   relu);
  EXPECT_EQ(y, (std::vector<float>{0, 1}));
  std::vector<float> dy{4, 10}, dx(2), dgamma(1), dbeta(1), dresidual(2);
  BatchNormGradientTensors t{.dy = view(dy.data(), {1, 1, 2}),
                             .x = view(x.data(), {1, 1, 2}),
                             .mean = view(mean.data(), {1}),
                             .var = view(var.data(), {1}),
                             .gamma = view(gamma.data(), {1}),
                             .beta = {},
                             .residual = of_added,
                             .dx = view(dx.data(), {1, 1, 2}),
                             .dgamma = view(dgamma.data(), {1}),
                             .dbeta = view(dbeta.data(), {1}),
                             .dresidual = view(dresidual.data(), {1, 1, 2})};
  batch_norm_gradient(t, relu);
  EXPECT_EQ(dresidual, (std::vector<float>{0, 10}));
  EXPECT_EQ(dbeta[0], 10);
  EXPECT_EQ(dgamma[0], 10);
  EXPECT_EQ(dx, (std::vector<float>{0, 20}));
  t.dresidual = {};  // then dz is computed again in each pass
  batch_norm_gradient(t, relu);
  EXPECT_EQ(dx, (std::vector<float>{0, 20}));
  t.residual = {};  // z is -2 2
  batch_norm_train_gradient(t, relu);
  EXPECT_EQ(dx[0], 2 * (0 - 5 + 5));
  EXPECT_EQ(BatchNormProblem::of_gradient(BatchNorm::train,
                                          {.dy = t.dy,
                                           .x = t.x,
                                           .mean = t.mean,
                                           .var = t.var,
                                           .gamma = {},
                                           .beta = t.mean,
                                           .residual = {},
                                           .dx = t.dx,
                                           .dgamma = {},
                                           .dbeta = {},
                                           .dresidual = {}},
                                          {})
                .error()
                .message(),
            "batch_norm_train: beta is given without an activation; it must be left out: dz is dy then");
}

TEST(BatchNorm, ByNameAGradientGivesWhatItIsAskedFor) {
  const OpInfo& op = **find_op("batch_norm_train");
  const auto names = [](const Result<std::vector<std::string_view>>& found) {
    std::string text;
    if (found)
      for (const std::string_view name : *found) text += std::string(name) + " ";
    else text = found.error().message();
    return text;
  };
  EXPECT_EQ(names(input_names(op, {{"backward", "1"}}, 5)), "dy x mean var gamma ");
  EXPECT_EQ(names(input_names(op, {{"backward", "1"}}, 4)), "dy x mean var ");
  EXPECT_EQ(names(input_names(op, {{"backward", "1"}}, 7)), "dy x mean var gamma beta residual ");
  EXPECT_EQ(names(output_names(op, {{"backward", "1"}, {"outputs", "dx,dresidual"}})), "dx dresidual ");
  EXPECT_EQ(names(output_names(op, {{"backward", "1"}})), "dx dgamma dbeta ");
  EXPECT_EQ(names(output_names(op, {{"backward", "1"}, {"outputs", "dx,dbeta"}})), "dx dbeta ");
  EXPECT_EQ(names(output_names(op, {})), "y mean var ");
  EXPECT_EQ(names(output_names(op, {{"backward", "yes"}})), "batch_norm_train: backward is 'yes'; it must be 0 or 1");
}

TEST(BatchNorm, OneLineEach) {
  std::vector<float> x{1, 2, 3, 4, 10, 10, 10, 10}, y(8), mean(2), var(2), gamma{2, 1};
  BatchNormTensors t{.x = view(x.data(), {1, 2, 4}),
                     .y = view(y.data(), {1, 2, 4}),
                     .mean = view(mean.data(), {2}),
                     .var = view(var.data(), {2}),
                     .gamma = view(gamma.data(), {2}),
                     .beta = {},
                     .residual = {}};
  batch_norm_train(t, {.eps = 0.75f});
  EXPECT_EQ(mean[0], 2.5f);
  EXPECT_EQ(var[0], 1.25f);
  EXPECT_EQ(var[1], 0);
  EXPECT_NEAR(y[3], 1.5 / std::sqrt(2.0) * 2, 1e-6);
  EXPECT_EQ(y[5], 0);
  std::vector<float> again(8);
  t.y = view(again.data(), {1, 2, 4});
  batch_norm(t, {.eps = 0.75f});
  EXPECT_EQ(again, y);
}

TEST(BatchNorm, ByNameGammaOrBetaComesAlone) {
  const OpInfo& op = **find_op("batch_norm");
  std::vector<float> x{1, 2, 3, 4}, y(4), mean{1, 1}, var{1, 4}, of_channel{10, 20};
  const TensorView in[] = {view(x.data(), {1, 2, 2}), view(mean.data(), {2}), view(var.data(), {2}),
                           view(of_channel.data(), {2})};
  const TensorView out = view(y.data(), {1, 2, 2});
  const auto run = [&](const Options& options) {
    auto plan = plan_op(op, in, std::span(&out, 1), options, cpu());
    ASSERT_TRUE(plan) << plan.error().message();
    ASSERT_TRUE((*plan)->run(in, std::span(&out, 1), {}, {}).ok());
  };
  run({{"eps", "0"}});
  EXPECT_EQ(y, (std::vector<float>{0, 10, 20, 30}));
  run({{"eps", "0"}, {"inputs", "x,mean,var,beta"}});
  EXPECT_EQ(y, (std::vector<float>{10, 11, 21, 21.5f}));
}

TEST(BatchNorm, FiveAxesAndSpaceInTwoParts) {  // [n, c, d, h, w] with a gap between depths
  std::vector<float> x(2 * 3 * 2 * 5), mean(3), var(3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 10);
  BatchNormTensors t{.x = view(x.data(), {2, 3, 2, 1, 2}),
                     .y = {},
                     .mean = view(mean.data(), {3}),
                     .var = view(var.data(), {3}),
                     .gamma = {},
                     .beta = {},
                     .residual = {}};
  t.x.layout.stride = {30, 10, 5, 5, 1};  // of each channel's 10 values: 0 1 5 6
  batch_norm_stats(t);
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(mean[c], 3);
    EXPECT_EQ(var[c], 6.5f);
  }
}

}  // namespace
}  // namespace ridge
