// How far from the exact result rows of float32 are, where scores are large.
#include <ridge/attention/attention.hpp>
#include <ridge/attention/variants.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace ridge {
namespace {

using attention_detail::variants;
using attention_kernels::Algorithm;
using attention_kernels::Config;

// Rows of the forward pass for every device, and the CPU.
bool runs_everywhere(const Config& c) {
  return c.algorithm == Algorithm::naive || c.algorithm == Algorithm::tiled || c.algorithm == Algorithm::register_tile;
}

// The greatest error of O, in units of the greatest |O| and of the element itself.
struct Error {
  double of_greatest = 0, of_itself = 0;
  double beyond = 0;  // 5e-4 of the element, which a rounded product or exponent would exceed
};
// With inputs up to 10 and 2,048 keys: scores of some hundreds, which reveal a rounded product or exponent.
Error error_at_large_scores(const attention_detail::Variant& row, Accumulate accumulate) {
  const std::int64_t sq = 16, sk = 2048, d = 64;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-10, 10);
  std::vector<float> q(sq * d), k(sk * d), v(sk * d), o(sq * d);
  for (auto* x : {&q, &k, &v})
    for (float& value : *x) value = uniform(random);
  const AttentionTensors t{.q = view(q.data(), {1, 1, sq, d}),
                           .k = view(k.data(), {1, 1, sk, d}),
                           .v = view(v.data(), {1, 1, sk, d}),
                           .o = view(o.data(), {1, 1, sq, d})};
  auto plan =
      plan_attention(*AttentionProblem::of(t, {.accumulate = accumulate}), cpu(), {.variant = std::string(row.name)});
  EXPECT_TRUE(plan.ok()) << plan.error().message();
  if (!plan) return {INFINITY, INFINITY};
  std::vector<std::byte> workspace(plan->workspace_bytes());
  EXPECT_TRUE(plan->run(t, {workspace.data(), workspace.size()}).ok());
  Error error;
  double greatest_o = 0;
  for (std::int64_t i = 0; i < sq; ++i) {
    std::vector<long double> weights(sk);
    long double greatest = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j < sk; ++j) {
      for (std::int64_t c = 0; c < d; ++c) weights[j] += static_cast<long double>(q[i * d + c]) * k[j * d + c] / 8;
      greatest = std::max(greatest, weights[j]);
    }
    for (long double& w : weights) sum += w = std::exp(w - greatest);
    for (std::int64_t c = 0; c < d; ++c) {
      long double want = 0;
      for (std::int64_t j = 0; j < sk; ++j) want += weights[j] / sum * v[j * d + c];
      const auto apart = static_cast<double>(std::fabs(o[i * d + c] - want)),
                 size = static_cast<double>(std::fabs(want));
      error.of_greatest = std::max(error.of_greatest, apart);
      error.of_itself = std::max(error.of_itself, apart / size);
      error.beyond = std::max(error.beyond, apart - 5e-4 * size);
      greatest_o = std::max(greatest_o, size);
    }
  }
  error.of_greatest /= greatest_o;
  return error;
}

// Every portable row.
TEST(Attention, Float32StaysFloat32) {
  for (const auto& row : variants)
    if (row.f32 && runs_everywhere(row.config)) {
      EXPECT_LE(error_at_large_scores(row, Accumulate::plain).beyond, 5e-5) << row.name;
    }
}

// The table of the README: --gtest_output=json:FILE writes the numbers.
TEST(Attention, InTwoFloatsLargeScoresCostNoAccuracy) {
  const auto record = [](const auto& row, const Error& error) {
    RecordProperty(std::string(row.name) + "_of_greatest_e9", std::to_string(error.of_greatest * 1e9));
    RecordProperty(std::string(row.name) + "_of_itself_e9", std::to_string(error.of_itself * 1e9));
  };
  Error plain{INFINITY, INFINITY};  // of the most accurate row
  for (const auto& row : variants)
    if (row.f32 && runs_everywhere(row.config)) {
      const Error error = error_at_large_scores(row, Accumulate::plain);
      record(row, error);
      plain = {std::min(plain.of_greatest, error.of_greatest), std::min(plain.of_itself, error.of_itself)};
    }
  for (const auto& row : variants)
    if (row.config.algorithm == Algorithm::two_float) {
      const Error error = error_at_large_scores(row, Accumulate::two_float);
      record(row, error);
      EXPECT_LE(error.of_itself, 0.51 * 0x1p-23) << row.name;  // O's own rounding
      EXPECT_LE(error.of_itself, plain.of_itself / 100) << row.name;
      EXPECT_LE(error.of_greatest, plain.of_greatest / 100) << row.name;
    }
}

// Such a mask does not tell keys apart, and in two floats does not swallow their scores.
TEST(Attention, InTwoFloatsAFiniteMaskOfAllKeysChangesNothing) {
  const float q = 1, k[] = {0, 10, 20, -60}, v[] = {7, -3, 2, 5};
  for (const float hidden : {0.0f, -1e9f, std::numeric_limits<float>::lowest() / 2})
    for (const auto& row : variants) {
      if (row.config.algorithm != Algorithm::two_float) continue;
      const float mask[] = {hidden, hidden, hidden, hidden};
      float o = 0;
      const AttentionTensors t{.q = view(&q, {1, 1, 1, 1}),
                               .k = view(k, {1, 1, 4, 1}),
                               .v = view(v, {1, 1, 4, 1}),
                               .o = view(&o, {1, 1, 1, 1}),
                               .mask = view(mask, {1, 1, 1, 4})};
      auto plan = plan_attention(*AttentionProblem::of(t, {.accumulate = Accumulate::two_float}), cpu(),
                                 {.variant = std::string(row.name)});
      ASSERT_TRUE(plan.ok()) << plan.error().message();
      ASSERT_TRUE(plan->run(t).ok());
      double sum = 0, want = 0;
      for (int j = 0; j < 4; ++j) sum += std::exp(k[j] - 20.0), want += std::exp(k[j] - 20.0) * v[j];
      EXPECT_NEAR(o, want / sum, 0x1p-24 * std::fabs(want / sum)) << row.name << " " << hidden;
    }
}

}  // namespace
}  // namespace ridge
